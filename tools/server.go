package tools

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"flame/agents"
	"flame/core/op"
	"flame/hosts"
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
	announces func(host string) bool // reports whether a host's hooks announce calls
	log       *slog.Logger

	mu     sync.Mutex
	served map[string]project.Caller // callers, by session
	proofs replayCache
}

// NewServer returns the server that offers these tools. caller names the
// caller of a call without a proven stamp; it may look at the context's client session.
func NewServer(p *project.Project, a *agents.Agents, offered []Tool, version string, caller func(context.Context) project.Caller) *Server {
	s := &Server{
		project: p, resources: resources{p, &briefing.Contexts{Project: p}, a, caller}, tools: offered, caller: caller, log: p.Log,
		callIDs: a.Hosts.Each(func(h hosts.Host) []string { return []string{h.Events.CallID} }),
		served:  map[string]project.Caller{}, announces: func(host string) bool { return a.Hosts.Of(host).Events.Announces },
	}
	s.MCP = server.NewMCPServer("flame", version,
		server.WithTitle("Flame"),
		server.WithDescription("A call stack for coding agents: frames with goals, decisions and summaries that outlive the conversation"),
		server.WithInstructions(Instructions()),
		server.WithToolCapabilities(true),
		server.WithPromptCapabilities(true),
		server.WithLogging(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{p}),
		server.WithResourceCompletionProvider(completer{p}),
		server.WithToolHandlerMiddleware(transport.InOrder),
		server.WithHooks(s.hooks()),
	)
	if !isLean(offered) {
		server.WithResourceCapabilities(true, true)(s.MCP)
		s.resources.addTo(s.MCP)
	}
	for _, t := range offered {
		s.MCP.AddTool(s.tool(t), s.handler(t))
	}
	s.MCP.AddPrompts(prompts()...)
	return s
}

// isLean reports whether clients reach most tools through flame_more. Such a client gets no
// resources either: its host would add three tools for them to each request.
func isLean(offered []Tool) bool {
	offers := func(name op.Name) bool {
		return slices.ContainsFunc(offered, func(t Tool) bool { return t.Name == string(name) })
	}
	return offers(op.More) && !offers(op.Tree)
}

// hooks returns hooks that let a client subscribe to existing resources, and
// that end its session when it goes, so that other sessions can take over the frames
// that it left in progress.
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

// noteServed records the caller of an answered call. Subagents end with their parent session.
func (s *Server) noteServed(by project.Caller) {
	if by.Session == "" || by.Parent != "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[by.Session] = by
}

// EndSessions ends every session that called, unless it goes on. It is for a server whose only
// client, the host that started it, is gone: a killed host does not report the end of its
// sessions.
func (s *Server) EndSessions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transport.NoteTime)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, by := range s.served {
		s.end(ctx, by)
	}
}

// Watch tells the clients, at every tick until ctx ends, which resources changed, in any
// process.
func (s *Server) Watch(ctx context.Context, tick <-chan time.Time) {
	s.resources.watch(ctx, tick, func(uri string) {
		s.MCP.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
	})
}

func (s *Server) end(ctx context.Context, by project.Caller) {
	if err := children.EndServed(ctx, s.project, by); err != nil {
		s.log.Warn("flame could not record the end of a session", "session", by.Session, "error", err)
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
	if t.AlwaysLoad {
		// Claude Code shows such a tool at once and finds the others by search.
		described.Meta = &mcp.Meta{AdditionalFields: map[string]any{"anthropic/alwaysLoad": true}}
	}
	return described
}

func (s *Server) handler(t Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := s.call(ctx, t, request)
		if err != nil {
			text, known := ExplainError(err)
			if !known {
				s.log.Error("tool failed", "tool", t.Name, "error", err)
			}
			return mcp.NewToolResultError(text), nil
		}
		answer := mcp.NewToolResultText(result.Text)
		answer.StructuredContent = result.Structured
		for i, p := range result.Pictures {
			data := base64.StdEncoding.EncodeToString(p.Data)
			if strings.HasPrefix(p.Type, "image/") {
				answer.Content = append(answer.Content, mcp.NewImageContent(data, p.Type))
				continue
			}
			named := mcp.BlobResourceContents{URI: fmt.Sprintf("flame://recalled/%d", i+1), MIMEType: p.Type, Blob: data}
			answer.Content = append(answer.Content, mcp.NewEmbeddedResource(named))
		}
		return answer, nil
	}
}

// call runs the tool for the client and records the caller.
func (s *Server) call(ctx context.Context, t Tool, request mcp.CallToolRequest) (Result, error) {
	c, err := t.parse(request.Params.RawArguments)
	if err != nil {
		return Result{}, err
	}
	callID := callIDOf(request, s.callIDs)
	by, proven := s.callerOf(ctx, t.Name, c.stamp, callID)
	if !proven && s.announces(by.Host) {
		if by, err = s.announced(ctx, by, request.Params); err != nil {
			return Result{}, err
		}
	}
	ctx = withClient(ctx, s.MCP, request, callID)
	result, err := c.run(ctx, by)
	if err == nil {
		s.noteServed(by)
	}
	return result, err
}
