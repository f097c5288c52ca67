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
	"flame/project/briefing"
	"flame/project/children"
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

	project   *project.Project
	resources resources
	tools     []Tool
	callIDs   []string // keys under which hosts send the ids of calls
	caller    func(context.Context) project.Caller
	log       *slog.Logger

	mu     sync.Mutex
	served map[string]project.Caller // who has called, by session
}

// NewServer returns the server that offers these tools. caller names who calls
// if no stamp does; it may look at the context's client session.
func NewServer(p *project.Project, a *agents.Agents, offered []Tool, version string, caller func(context.Context) project.Caller) *Server {
	s := &Server{
		project: p, resources: resources{p, &briefing.Contexts{Project: p}, a, caller}, tools: offered, callIDs: a.Hosts.CallIDs(), caller: caller, log: p.Log,
		served: map[string]project.Caller{},
	}
	s.MCP = server.NewMCPServer("flame", version,
		server.WithTitle("Flame"),
		server.WithDescription("A call stack for coding agents: frames with goals, decisions and summaries that outlive the conversation"),
		server.WithInstructions(Instructions()),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithLogging(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{p}),
		server.WithResourceCompletionProvider(completer{p}),
		server.WithToolHandlerMiddleware(transport.InOrder),
		server.WithHooks(s.hooks()),
	)
	for _, t := range offered {
		s.MCP.AddTool(s.tool(t), s.handler(t))
	}
	s.MCP.AddPrompts(prompts()...)
	s.resources.addTo(s.MCP)
	return s
}

// hooks returns hooks that let a client subscribe to existing resources, and
// that end its session when it goes, so that others can take over what it left
// in progress.
func (s *Server) hooks() *server.Hooks {
	hooks := &server.Hooks{}
	hooks.AddOnRegisterSession(func(ctx context.Context, client server.ClientSession) {
		ctx = s.MCP.WithContext(ctx, client)
		transport.FindResources(client, func(uri string) (string, error) {
			told, err := s.resources.find(ctx, uri)
			return told, readable(err)
		})
	})
	hooks.AddOnUnregisterSession(func(ctx context.Context, session server.ClientSession) {
		ctx = s.MCP.WithContext(ctx, session)
		s.end(ctx, s.caller(ctx))
	})
	return hooks
}

// noteServed records whose call was answered. Subagents end with the session
// that they run in.
func (s *Server) noteServed(by project.Caller) {
	if by.Session == "" || by.Parent != "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[by.Session] = by
}

// EndServed ends every session that called. It is for a server with a single
// client, the host that started it, once that is gone: a killed host reports
// the end of its sessions in no other way.
func (s *Server) EndServed(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transport.NoteTime)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, by := range s.served {
		s.end(ctx, by)
	}
}

// Watch tells the clients, at every tick until ctx ends, which resources
// changed, whichever process changed them.
func (s *Server) Watch(ctx context.Context, tick <-chan time.Time) {
	s.resources.watch(ctx, tick, func(uri string) {
		s.MCP.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
	})
}

func (s *Server) end(ctx context.Context, by project.Caller) {
	if err := children.EndSession(ctx, s.project, by); err != nil {
		s.log.Warn("a session's end was not recorded", "session", by.Session, "error", err)
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
		// Claude Code shows such a tool at once and finds the others by search.
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

// call runs the tool for the client and records who called.
func (s *Server) call(ctx context.Context, t Tool, request mcp.CallToolRequest) (Result, error) {
	c, err := t.parse(request.Params.RawArguments)
	if err != nil {
		return Result{}, err
	}
	by := c.stamp.caller(s.caller(ctx))
	ctx = withCall(withQuestions(withProgress(ctx, s.MCP, request), s.MCP), request, s.callIDs)
	result, err := c.run(ctx, by)
	if err == nil {
		s.noteServed(by)
	}
	return result, err
}
