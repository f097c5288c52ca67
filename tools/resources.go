package tools

import (
	"context"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/samber/lo"

	"flame/agents"
	"flame/agents/record"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/briefing"
	"flame/project/view"
	"flame/render"
)

// resources are the parts of a project and its agents that clients can read, and
// subscribe to.
type resources struct {
	project  *project.Project
	contexts *briefing.Contexts
	agents   *agents.Agents
	caller   func(context.Context) project.Caller
}

// The URIs of the resources.
const (
	treeURI       = "flame://tree"
	contextPrefix = "flame://context/"
	framePrefix   = "flame://frame/"
	agentPrefix   = "flame://agent/"
)

// A resource is a kind of resource whose URI ends with an id.
type resource struct {
	prefix, id, name, description, mime string

	// look returns the full id of the resource that id names, and its text.
	look func(ctx context.Context, id string) (inFull, text string, err error)
}

func (r resources) all() []resource {
	return []resource{
		{contextPrefix, "frame", "context", "The context of an agent in the frame", "application/xml", r.context},
		{agentPrefix, "subagent_id", "agent", "The progress and outcome of an agent", "text/plain", r.agent},
		{framePrefix, "frame", "frame", "Everything about one frame", "text/plain", r.frame},
	}
}

func (r resources) context(ctx context.Context, id string) (inFull, text string, err error) {
	made, err := r.contexts.Context(ctx, r.caller(ctx), id, 0)
	return made.Frame.ID, made.Text, err
}

func (r resources) frame(ctx context.Context, id string) (inFull, text string, err error) {
	details, err := view.DetailsOf(ctx, r.project, r.caller(ctx), id)
	return details.Frame.ID, render.Details(details, 0), err
}

func (r resources) agent(ctx context.Context, id string) (inFull, text string, err error) {
	result, err := r.result(ctx, id)
	return result.ID, render.Result(result, r.project.Now(), 0, 0), err
}

func (r resources) result(ctx context.Context, id string) (record.Result, error) {
	guest, err := agents.IsForRemote(ctx, r.project, r.caller(ctx).Agent)
	if err == nil && guest {
		err = core.Invalidf("agents that other machines asked for do not see the agents of this machine").WithHint("read the context of your own frame")
	}
	if err != nil {
		return record.Result{}, err
	}
	return r.agents.Result(ctx, id)
}

// addTo offers the resources to the clients of srv.
func (r resources) addTo(srv *server.MCPServer) {
	srv.AddResource(mcp.NewResource(treeURI, "tree", mcp.WithResourceDescription("The tree of frames"), mcp.WithMIMEType("text/plain")),
		func(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			tree, err := view.TreeOf(ctx, r.project, r.caller(ctx), view.TreeArgs{Limit: treeLimit})
			return contents(treeURI, "text/plain", render.Tree(tree, false)), readable(err)
		})
	for _, one := range r.all() {
		template := mcp.NewResourceTemplate(one.prefix+"{"+one.id+"}", one.name,
			mcp.WithTemplateDescription(one.description), mcp.WithTemplateMIMEType(one.mime))
		srv.AddResourceTemplate(template, func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			_, text, err := one.look(ctx, strings.TrimPrefix(request.Params.URI, one.prefix))
			return contents(request.Params.URI, one.mime, text), readable(err)
		})
	}
}

func contents(uri, mime, text string) []mcp.ResourceContents {
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: render.ToToolNames(text)}}
}

// maxURI bounds the URI of a resource that a client subscribes to, in bytes.
// Hosts' session ids, which may stand for a frame, have about 40.
const maxURI = 256

// find looks up the resource at uri the way reading does, and returns the URI
// with its full id, under which its changes are announced.
func (r resources) find(ctx context.Context, uri string) (told string, err error) {
	if len(uri) > maxURI {
		return "", core.Invalidf("the URI has more than %d bytes", maxURI).WithHint("give an id of %s or %s", op.Tree, op.AgentList)
	}
	if uri == treeURI {
		return uri, nil
	}
	afterSlash := strings.LastIndexByte(uri, '/') + 1
	prefix, id := uri[:afterSlash], strings.TrimSpace(uri[afterSlash:])
	one, known := lo.Find(r.all(), func(one resource) bool { return one.prefix == prefix })
	if !known || id == "" {
		return "", core.NotFoundf("there is no resource %q", core.OneLine(uri, maxURI)).
			WithHint("subscribe to %s, or to %sID, %sID or %sID with an existing id", treeURI, framePrefix, contextPrefix, agentPrefix)
	}
	inFull, _, err := one.look(ctx, id)
	return prefix + inFull, err
}

// watch announces, at every tick until ctx ends, the resources that changed, in any process.
func (r resources) watch(ctx context.Context, tick <-chan time.Time, tell func(uri string)) {
	known, _ := view.Revision(ctx, r.project) // if it cannot be read yet, the first tick announces everything
	running := map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if now, err := view.Revision(ctx, r.project); err == nil && now != known {
			known = now
			r.tellOfFrames(ctx, tell)
		}
		running = r.tellOfAgents(ctx, running, tell)
	}
}

// tellOfAgents announces the agents whose state differs from were, and returns their current
// state.
func (r resources) tellOfAgents(ctx context.Context, were map[string]string, tell func(uri string)) map[string]string {
	runs, err := r.agents.Running(ctx)
	if err != nil {
		return were
	}
	are := map[string]string{}
	for _, run := range runs {
		are[run.ID] = render.AgentLine(run, run.Progress.LastLine) // passing time is not a change
	}
	for id, state := range are {
		if were[id] != state {
			tell(agentPrefix + id)
		}
	}
	for id := range were {
		if _, runs := are[id]; !runs {
			tell(agentPrefix + id)
		}
	}
	return are
}

// tellOfFrames announces the tree and the frames that changed last. A client receives those to
// which it is subscribed.
func (r resources) tellOfFrames(ctx context.Context, tell func(uri string)) {
	frames, err := view.Frames(ctx, r.project, project.FrameQuery{Order: project.RecentFirst, Limit: 20})
	if err != nil {
		return
	}
	tell(treeURI)
	for _, f := range frames {
		tell(framePrefix + f.ID)
		tell(contextPrefix + f.ID)
	}
}
