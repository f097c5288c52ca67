package tools

import (
	"context"
	_ "embed"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"flame/agents"
	"flame/project"
	"flame/render"
	"flame/tools/transport"
)

// instructions is the static guidance that every client gets once, as the
// server's instructions.
//
//go:embed instructions.md
var instructions string

// Instructions returns the guidance on working with frames.
func Instructions() string { return strings.TrimSpace(instructions) }

// A Server is the MCP door of one project.
type Server struct {
	MCP *server.MCPServer

	project *project.Project
	agents  *agents.Agents
	tools   []Tool
	caller  func(context.Context) project.Caller
	log     *slog.Logger

	mu     sync.Mutex
	served map[string]project.Caller // those whose calls came, by session
}

// NewServer makes the server that offers these tools. caller names who calls
// where no stamp does; it may look at the context's client session.
func NewServer(p *project.Project, a *agents.Agents, offered []Tool, version string, caller func(context.Context) project.Caller) *Server {
	s := &Server{project: p, agents: a, tools: offered, caller: caller, log: p.Log, served: map[string]project.Caller{}}
	s.MCP = server.NewMCPServer("flame", version,
		server.WithTitle("Flame"),
		server.WithDescription("A call stack for coding agents: frames with goals, decisions and summaries that outlive the conversation"),
		server.WithInstructions(Instructions()),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithLogging(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(s),
		server.WithResourceCompletionProvider(s),
		server.WithToolHandlerMiddleware(transport.InOrder),
		server.WithHooks(s.hooks()),
	)
	for _, t := range offered {
		s.MCP.AddTool(s.tool(t), s.handler(t))
	}
	s.addResources()
	s.addPrompts()
	return s
}

// hooks let a client subscribe to what there is, and end its session when it goes, so
// that others may take up what it left in progress.
func (s *Server) hooks() *server.Hooks {
	hooks := &server.Hooks{}
	hooks.AddOnRegisterSession(func(ctx context.Context, client server.ClientSession) {
		ctx = s.MCP.WithContext(ctx, client)
		transport.FindResources(client, func(uri string) (string, error) {
			told, err := s.subscribable(ctx, uri)
			return told, readable(err)
		})
	})
	hooks.AddOnUnregisterSession(func(ctx context.Context, session server.ClientSession) {
		ctx = s.MCP.WithContext(ctx, session)
		s.end(ctx, s.caller(ctx))
	})
	return hooks
}

// noteServed notes whose call was answered. Subagents end with the session that they
// run in.
func (s *Server) noteServed(by project.Caller) {
	if by.Session == "" || by.Parent != "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[by.Session] = by
}

// EndServed ends every session that called. It is for a server that has one client,
// the host that started it, once that is gone: a host that is killed tells the end of
// its sessions in no other way.
func (s *Server) EndServed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transport.NoteTime)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, by := range s.served {
		s.end(ctx, by)
	}
}

func (s *Server) end(ctx context.Context, by project.Caller) {
	if err := s.project.EndSession(ctx, by); err != nil {
		s.log.Warn("a session's end was not noted", "session", by.Session, "error", err)
	}
}

// Writes reports whether calls of a tool change state, so that they must take
// effect in order.
func (s *Server) Writes(tool string) bool {
	for _, t := range s.tools {
		if t.Name == tool {
			return !t.Hints.ReadOnly
		}
	}
	return false
}

// tool describes t to clients, with all four hints.
func (s *Server) tool(t Tool) mcp.Tool {
	described := mcp.NewToolWithRawSchema(t.Name, t.Description, t.Schema())
	described.Annotations = mcp.ToolAnnotation{
		ReadOnlyHint:    mcp.ToBoolPtr(t.Hints.ReadOnly),
		DestructiveHint: mcp.ToBoolPtr(t.Hints.Destructive),
		IdempotentHint:  mcp.ToBoolPtr(t.Hints.Idempotent),
		OpenWorldHint:   mcp.ToBoolPtr(t.Hints.OpenWorld),
	}
	if t.Core {
		// Claude Code shows such a tool at once; the others it finds by search.
		described.Meta = &mcp.Meta{AdditionalFields: map[string]any{"anthropic/alwaysLoad": true}}
	}
	return described
}

func (s *Server) handler(t Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := s.call(ctx, t, request)
		if err != nil {
			text, known := Advice(err)
			if !known {
				s.log.Error("tool failed", "tool", t.Name, "error", err)
			}
			return mcp.NewToolResultError(text), nil
		}
		answer := mcp.NewToolResultText(result.Text)
		answer.StructuredContent = result.Structured
		return answer, nil
	}
}

// call runs the tool for the client, and notes who that was.
func (s *Server) call(ctx context.Context, t Tool, request mcp.CallToolRequest) (Result, error) {
	c, err := t.parse(request.Params.RawArguments)
	if err != nil {
		return Result{}, err
	}
	by := c.stamp.caller(s.caller(ctx))
	result, err := c.run(withCall(withQuestions(withProgress(ctx, s.MCP, request), s.MCP), request), by)
	if err == nil {
		s.noteServed(by)
	}
	return result, err
}

// The addresses of the resources.
const (
	treeURI       = "flame://tree"
	contextPrefix = "flame://context/"
	framePrefix   = "flame://frame/"
	agentPrefix   = "flame://agent/"
)

func (s *Server) addResources() {
	s.MCP.AddResource(mcp.NewResource(treeURI, "tree", mcp.WithResourceDescription("The tree of frames"), mcp.WithMIMEType("text/plain")),
		func(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			tree, err := s.project.Tree(ctx, s.caller(ctx), project.TreeArgs{Limit: treeLimit})
			return contents(treeURI, "text/plain", render.ForTools(render.Tree(tree, false))), readable(err)
		})
	s.addFrameResource(contextPrefix, "context", "What an agent in the frame is shown", "application/xml", func(ctx context.Context, id string) (string, error) {
		made, err := s.project.Context(ctx, s.caller(ctx), id, 0)
		return made.Text, err
	})
	s.addResource(agentPrefix+"{subagent_id}", "agent", "How far an agent is, and what it came to", "text/plain", func(ctx context.Context, id string) (string, error) {
		r, err := s.agents.Result(ctx, id)
		if err != nil {
			return "", err
		}
		return render.Result(r, s.project.Now(), 0, 0), nil
	})
	s.addFrameResource(framePrefix, "frame", "All of one frame", "text/plain", func(ctx context.Context, id string) (string, error) {
		details, err := s.project.Details(ctx, s.caller(ctx), id)
		return render.Details(details), err
	})
}

func (s *Server) addFrameResource(prefix, name, description, mime string, read func(context.Context, string) (string, error)) {
	s.addResource(prefix+"{frame}", name, description, mime, read)
}

func (s *Server) addResource(pattern, name, description, mime string, read func(context.Context, string) (string, error)) {
	prefix, _, _ := strings.Cut(pattern, "{")
	template := mcp.NewResourceTemplate(pattern, name, mcp.WithTemplateDescription(description), mcp.WithTemplateMIMEType(mime))
	s.MCP.AddResourceTemplate(template, func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		text, err := read(ctx, strings.TrimPrefix(request.Params.URI, prefix))
		return contents(request.Params.URI, mime, render.ForTools(text)), readable(err)
	})
}

func contents(uri, mime, text string) []mcp.ResourceContents {
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: text}}
}

// readable puts an error into the words that a client may show.
func readable(err error) error {
	if err == nil {
		return nil
	}
	text, _ := Advice(err)
	return adviceError(strings.TrimPrefix(text, "Error: "))
}

type adviceError string

func (e adviceError) Error() string { return string(e) }

// Watch tells the clients, at every tick until ctx ends, of the resources that
// changed, whichever process changed them.
func (s *Server) Watch(ctx context.Context, tick <-chan time.Time) {
	known, _ := s.project.Revision(ctx) // where it cannot be read yet, the first tick tells of all
	running := map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if now, err := s.project.Revision(ctx); err == nil && now != known {
			known = now
			s.tellOfChanges(ctx)
		}
		running = s.tellOfAgents(ctx, running)
	}
}

// tellOfAgents names the agents that are not as they were, and gives how they are
// now.
func (s *Server) tellOfAgents(ctx context.Context, were map[string]string) map[string]string {
	runs, err := s.agents.Running(ctx)
	if err != nil {
		return were
	}
	are := map[string]string{}
	for _, run := range runs {
		are[run.ID] = render.AgentLine(run, run.Progress.LastLine) // that time goes by is no news
	}
	for id, state := range are {
		if were[id] != state {
			s.tellOfChange(agentPrefix + id)
		}
	}
	for id := range were {
		if _, runs := are[id]; !runs {
			s.tellOfChange(agentPrefix + id)
		}
	}
	return are
}

func (s *Server) tellOfChange(uri string) {
	s.MCP.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
}

// tellOfChanges names the tree and the frames that changed last; a client hears
// of those it subscribed to.
func (s *Server) tellOfChanges(ctx context.Context) {
	uris := []string{treeURI}
	frames, err := s.project.Recent(ctx, 20)
	if err != nil {
		return
	}
	for _, f := range frames {
		uris = append(uris, framePrefix+f.ID, contextPrefix+f.ID)
	}
	for _, uri := range uris {
		s.tellOfChange(uri)
	}
}

// CompletePromptArgument offers statuses for arguments named so; goals and
// summaries are free text.
func (s *Server) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if argument.Name != "status" {
		return completion(nil), nil
	}
	return completion(withPrefix(endStatus("").Values(), argument.Value)), nil
}

// CompleteResourceArgument offers the ids of frames.
func (s *Server) CompleteResourceArgument(ctx context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	frames, err := s.project.Complete(ctx, argument.Value, maxCompletions)
	if err != nil {
		return nil, readable(err)
	}
	var ids []string
	for _, f := range frames {
		ids = append(ids, f.ID)
	}
	return completion(ids), nil
}

// maxCompletions is the protocol's limit on values in one completion.
const maxCompletions = 100

func completion(values []string) *mcp.Completion {
	if values == nil {
		values = []string{}
	}
	return &mcp.Completion{Values: values, Total: len(values)}
}

func withPrefix(values []string, prefix string) (kept []string) {
	for _, v := range values {
		if strings.HasPrefix(v, prefix) {
			kept = append(kept, v)
		}
	}
	return kept
}
