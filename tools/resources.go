package tools

import (
	"context"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/samber/lo"

	"flame/agents"
	"flame/agents/result"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/briefing"
	"flame/project/view"
	"flame/render"
)

// resources are what clients can read of a project and its agents, and
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

// A resource is one of those whose URI ends with an id.
type resource struct {
	prefix, id, name, description, mime string

	read func(ctx context.Context, id string) (text string, err error)
	find func(ctx context.Context, id string) (inFull string, err error)
}

func (r resources) all() []resource {
	return []resource{
		{contextPrefix, "frame", "context", "The context of an agent in the frame", "application/xml", r.context, r.frameID},
		{agentPrefix, "subagent_id", "agent", "The progress and outcome of an agent", "text/plain", r.agent, r.agentID},
		{framePrefix, "frame", "frame", "Everything about one frame", "text/plain", r.frame, r.frameID},
	}
}

func (r resources) tree(ctx context.Context) (string, error) {
	tree, err := view.TreeOf(ctx, r.project, r.caller(ctx), view.TreeArgs{Limit: treeLimit})
	return render.Tree(tree, false), err
}

func (r resources) context(ctx context.Context, id string) (string, error) {
	by := r.caller(ctx)
	made, err := r.contexts.Of(ctx, by, id, 0)
	if err == nil {
		r.contexts.Shown(ctx, by, made.Text)
	}
	return made.Text, err
}

func (r resources) frame(ctx context.Context, id string) (string, error) {
	details, err := view.DetailsOf(ctx, r.project, r.caller(ctx), id)
	return render.Details(details), err
}

func (r resources) frameID(ctx context.Context, id string) (string, error) {
	details, err := view.DetailsOf(ctx, r.project, r.caller(ctx), id)
	return details.Frame.ID, err
}

func (r resources) agent(ctx context.Context, id string) (string, error) {
	result, err := r.result(ctx, id)
	if err != nil {
		return "", err
	}
	return render.Result(result, r.project.Now(), 0, 0), nil
}

func (r resources) agentID(ctx context.Context, id string) (string, error) {
	result, err := r.result(ctx, id)
	return result.ID, err
}

func (r resources) result(ctx context.Context, id string) (result.Result, error) {
	guest, err := agents.IsGuest(ctx, r.project.Store, r.caller(ctx).Agent)
	if err == nil && guest {
		err = core.Invalidf("an agent that another machine asked for is shown no agents here").WithHint("read the context of its frame")
	}
	if err != nil {
		return result.Result{}, err
	}
	return r.agents.Result(ctx, id)
}

// addTo offers the resources to the clients of srv.
func (r resources) addTo(srv *server.MCPServer) {
	srv.AddResource(mcp.NewResource(treeURI, "tree", mcp.WithResourceDescription("The tree of frames"), mcp.WithMIMEType("text/plain")),
		func(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			text, err := r.tree(ctx)
			return contents(treeURI, "text/plain", text), readable(err)
		})
	for _, one := range r.all() {
		template := mcp.NewResourceTemplate(one.prefix+"{"+one.id+"}", one.name,
			mcp.WithTemplateDescription(one.description), mcp.WithTemplateMIMEType(one.mime))
		srv.AddResourceTemplate(template, func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			text, err := one.read(ctx, strings.TrimPrefix(request.Params.URI, one.prefix))
			return contents(request.Params.URI, one.mime, text), readable(err)
		})
	}
}

func contents(uri, mime, text string) []mcp.ResourceContents {
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: render.ForTools(text)}}
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
			WithHint("subscribe to %s, or to %sID, %sID or %sID of what there is", treeURI, framePrefix, contextPrefix, agentPrefix)
	}
	inFull, err := one.find(ctx, id)
	return prefix + inFull, err
}

// watch announces, at every tick until ctx ends, the resources that changed,
// whichever process changed them.
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

// tellOfAgents announces the agents that have changed since were, and returns
// their current state.
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

// tellOfFrames announces the tree and the frames that changed last; a client
// hears of those it subscribed to.
func (r resources) tellOfFrames(ctx context.Context, tell func(uri string)) {
	frames, err := view.Recent(ctx, r.project, 20)
	if err != nil {
		return
	}
	tell(treeURI)
	for _, f := range frames {
		tell(framePrefix + f.ID)
		tell(contextPrefix + f.ID)
	}
}
