package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	clientside "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/stack"
	"flame/tools"
	"flame/tools/transport"
)

// A conversation is a client of a server with every tool, over the stdio
// transport.
type conversation struct {
	*client.Client
	t       *testing.T
	ctx     context.Context
	project *project.Project
	hello   *mcp.InitializeResult
	tick    chan time.Time               // makes the server look for changes
	told    chan mcp.JSONRPCNotification // what the server told
	leave   func()                       // ends the client, and waits for the server's end
}

func converse(t *testing.T) *conversation {
	return converseWith(t, &agents.Agents{Setup: plan.Setup{Project: newProject(t)}})
}

// converseWith is converse with a service that can start agents.
func converseWith(t *testing.T, service *agents.Agents) *conversation {
	ctx, stop := context.WithCancel(context.Background())
	c := &conversation{t: t, ctx: ctx, project: service.Project, tick: make(chan time.Time), told: make(chan mcp.JSONRPCNotification, 100)}
	srv := tools.NewServer(c.project, service, tools.All(c.project, service), "test", func(context.Context) project.Caller {
		return project.Caller{Session: "s", Host: "test"}
	})
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 2)
	go func() {
		err := transport.ServeStdio(ctx, srv.MCP, srv.Writes, transport.HiddenTool{}, toServer, fromServer, nil)
		srv.EndSessions(ctx)
		served <- err
	}()
	go func() { srv.Watch(ctx, c.tick); served <- nil }()
	c.Client = client.NewClient(clientside.NewIO(toClient, fromClient, io.NopCloser(nil)))
	c.OnNotification(func(note mcp.JSONRPCNotification) { c.told <- note })
	require.NoError(t, c.Start(ctx))
	c.leave = sync.OnceFunc(func() {
		assert.NoError(t, fromClient.Close())
		assert.NoError(t, <-served, "the end of input ends the server")
		stop()
		<-served
	})
	t.Cleanup(c.leave)
	var request mcp.InitializeRequest
	request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	hello, err := c.Initialize(ctx, request)
	require.NoError(t, err)
	c.hello = hello
	return c
}

func TestTheEndOfTheHostEndsTheSessionsThatCalled(t *testing.T) {
	c := converse(t)
	_, _ = c.call("flame_push", `{"goal": "the client's own"}`)
	for _, session := range []string{"one", "two"} {
		result, text := c.call("flame_push", stamped(t, c.project, "flame_push", session, "", `"goal": "work"`))
		require.False(t, result.IsError, text)
	}
	c.leave()
	require.NoError(t, c.project.Store.View(t.Context(), func(tx project.Tx) error {
		for _, id := range []string{"s", "one", "two"} {
			session, err := tx.Session(id)
			require.NoError(t, err)
			assert.Equal(t, core.SessionEnded, session.State, id)
		}
		return nil
	}))
}

// A lockedStore is a store that another process holds the lock of from a time on.
type lockedStore struct {
	project.Store
	locked chan struct{}
}

func (s lockedStore) Update(ctx context.Context, f func(project.Tx) error) error {
	select {
	case <-s.locked:
		<-ctx.Done()
		return ctx.Err()
	default:
		return s.Store.Update(ctx, f)
	}
}

func TestALockedStoreDoesNotKeepAServerWithoutAHost(t *testing.T) {
	p, locked := newProject(t), make(chan struct{})
	p.Store = lockedStore{p.Store, locked}
	c := converseWith(t, &agents.Agents{Setup: plan.Setup{Project: p}})
	for _, session := range []string{"s", "another"} {
		result, text := c.call("flame_push", stamped(t, c.project, "flame_push", session, "", `"goal": "work"`))
		require.False(t, result.IsError, text)
	}
	close(locked)
	left := time.Now()
	c.leave()
	assert.Less(t, time.Since(left), 30*time.Second)
}

// call calls a tool and returns its answer and text.
func (c *conversation) call(tool, args string) (*mcp.CallToolResult, string) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, json.RawMessage(args)
	result, err := c.CallTool(c.ctx, request)
	require.NoError(c.t, err)
	require.Len(c.t, result.Content, 1)
	text, ok := result.Content[0].(mcp.TextContent)
	require.True(c.t, ok)
	return result, text.Text
}

func TestToolsDescribeTheirEffects(t *testing.T) {
	c := converse(t)
	assert.Equal(t, tools.Instructions(), c.hello.Instructions)
	listed, err := c.ListTools(c.ctx, mcp.ListToolsRequest{})
	require.NoError(t, err)
	all := map[string]tools.Tool{}
	for _, tool := range tools.All(c.project, &agents.Agents{Setup: plan.Setup{Project: c.project}}) {
		all[tool.Name] = tool
	}
	require.Len(t, listed.Tools, len(all))
	for _, tool := range listed.Tools {
		hints := all[tool.Name].Hints
		for _, hint := range []struct {
			told *bool
			want bool
		}{
			{tool.Annotations.ReadOnlyHint, hints.ReadOnly}, {tool.Annotations.DestructiveHint, hints.Destructive},
			{tool.Annotations.IdempotentHint, hints.Idempotent}, {tool.Annotations.OpenWorldHint, hints.OpenWorld},
		} {
			require.NotNil(t, hint.told, tool.Name)
			assert.Equal(t, hint.want, *hint.told, tool.Name)
		}
		always := tool.Meta != nil && tool.Meta.AdditionalFields["anthropic/alwaysLoad"] == true
		assert.Equal(t, all[tool.Name].AlwaysLoad, always, tool.Name)
	}
}

func TestAnswersAreTextAndFailuresAreResults(t *testing.T) {
	c := converse(t)
	result, text := c.call("flame_push", `{"goal": "work"}`)
	assert.False(t, result.IsError)
	assert.Nil(t, result.StructuredContent)
	assert.Contains(t, text, "frame-")
	result, text = c.call("flame_push", `{"goal": ""}`)
	assert.True(t, result.IsError)
	assert.Contains(t, text, "goal is empty")
	result, text = c.call("flame_get_state", `{}`)
	assert.NotNil(t, result.StructuredContent)
	assert.True(t, json.Valid([]byte(text)))
}

func TestResourcesShowTheTreeAndItsFrames(t *testing.T) {
	c := converse(t)
	_, _ = c.call("flame_push", `{"goal": "work <here>"}`)
	read := func(uri string) (string, error) {
		var request mcp.ReadResourceRequest
		request.Params.URI = uri
		result, err := c.ReadResource(c.ctx, request)
		if err != nil {
			return "", err
		}
		return result.Contents[0].(mcp.TextResourceContents).Text, nil
	}
	for uri, want := range map[string]string{
		"flame://tree":                   "work <here>",
		"flame://frame/frame-00000002":   "Goal: work <here>",
		"flame://context/frame-00000002": "<goal>work &lt;here&gt;</goal>",
	} {
		text, err := read(uri)
		require.NoError(t, err, uri)
		assert.Contains(t, text, want, uri)
	}
	_, err := read("flame://frame/nothing")
	require.ErrorContains(t, err, "not found")
	assert.ErrorContains(t, err, "frame-00000002", "it offers what there is")
}

func TestSubscribersGetChangesByAllProcesses(t *testing.T) {
	c := converse(t)
	by := project.Caller{Session: "another process", Host: "test"}
	require.Empty(t, c.subscribe(mcp.MethodResourcesSubscribe, "flame://tree"))
	c.tick <- time.Time{}
	frame, err := stack.Push(c.ctx, c.project, by, "work", "")
	require.NoError(t, err)
	c.tick <- time.Time{}
	c.tick <- time.Time{} // nothing changed since
	_, err = stack.SetGoal(c.ctx, c.project, by, "", "more", "")
	require.NoError(t, err)
	c.tick <- time.Time{}
	for range 2 {
		note := <-c.told
		assert.Equal(t, mcp.MethodNotificationResourceUpdated, note.Method)
		assert.Equal(t, "flame://tree", note.Params.AdditionalFields["uri"], "others were not subscribed to")
	}
	_, _ = c.call("flame_status", `{}`)
	assert.Empty(t, c.told)

	require.Empty(t, c.subscribe(mcp.MethodResourcesUnsubscribe, "flame://tree"))
	require.Empty(t, c.subscribe(mcp.MethodResourcesSubscribe, "flame://frame/"+strings.TrimPrefix(frame.ID, "frame-")))
	_, err = stack.SetGoal(c.ctx, c.project, by, frame.ID, "by a part of its id", "")
	require.NoError(t, err)
	c.tick <- time.Time{}
	assert.Equal(t, "flame://frame/"+frame.ID, (<-c.told).Params.AdditionalFields["uri"])
}

func TestPromptsInsertTheirArgumentsUnchanged(t *testing.T) {
	c := converse(t)
	get := func(name string, args map[string]string) (string, error) {
		var request mcp.GetPromptRequest
		request.Params.Name, request.Params.Arguments = name, args
		result, err := c.GetPrompt(c.ctx, request)
		if err != nil {
			return "", err
		}
		return result.Messages[0].Content.(mcp.TextContent).Text, nil
	}
	listed, err := c.ListPrompts(c.ctx, mcp.ListPromptsRequest{})
	require.NoError(t, err)
	installed := op.Commands
	require.Len(t, listed.Prompts, len(installed))
	for _, command := range installed {
		i := slices.IndexFunc(listed.Prompts, func(p mcp.Prompt) bool { return p.Name == command.Name })
		require.GreaterOrEqual(t, i, 0, command.Name)
		assert.Equal(t, command.Description, listed.Prompts[i].Description)
		args := map[string]string{}
		for n, a := range listed.Prompts[i].Arguments {
			args[a.Name] = fmt.Sprintf("$%d", n+1)
		}
		text, err := get(command.Name, args)
		require.NoError(t, err)
		assert.Equal(t, command.Prompt(op.CommandLine), text, "OpenCode takes either, and fills in the line afterwards")
	}
	text, err := get("delegate", map[string]string{"line": `"say $1" --agent-type builder`})
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(text, "\n\n\"say $1\" --agent-type builder"), "the line is the model's to read: %s", text)
	text, err = get("pop", map[string]string{"status": "failed", "summary": "it broke"})
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(text, "\n\nfailed it broke"), text)
	text, err = get("pop", nil)
	require.NoError(t, err, "status and summary are optional, as its text says")
	assert.Equal(t, installed[slices.IndexFunc(installed, func(c op.Command) bool { return c.Name == "pop" })].Prompt(""), text)
	_, err = get("delegate", nil)
	require.ErrorContains(t, err, "line is missing")
}

func TestAListWithinAListOfGoalsIsNoGoal(t *testing.T) {
	c := converse(t)
	for _, children := range []string{`["[\"one\", \"two\"]"]`, `[["one"]]`, `"[[\"one\"]]"`} {
		_, text := c.call("flame_plan_children", `{"children": `+children+`}`)
		assert.Contains(t, text, "a child is neither a goal nor {goal, successCriteria}", children)
	}
	_, text := c.call("flame_plan_children", `{"children": ["[wip] one", "{\"goal\": \"two\"}"]}`)
	assert.Contains(t, text, "Planned below")
}

func TestCompletionOffersFramesAndStatuses(t *testing.T) {
	c := converse(t)
	_, _ = c.call("flame_plan_children", `{"children": ["one", "two"]}`)
	offered := func(ref any, argument, value string) []string {
		var request mcp.CompleteRequest
		request.Params.Ref, request.Params.Argument = ref, mcp.CompleteArgument{Name: argument, Value: value}
		result, err := c.Complete(c.ctx, request)
		require.NoError(t, err)
		return result.Completion.Values
	}
	frames := mcp.ResourceReference{Type: "ref/resource", URI: "flame://frame/{frame}"}
	assert.Equal(t, []string{"plan-00000003", "plan-00000002"}, offered(frames, "frame", "plan-"))
	assert.Empty(t, offered(frames, "frame", "nothing"))
	assert.Equal(t, []string{"completed"}, offered(mcp.PromptReference{Type: "ref/prompt", Name: "pop"}, "status", "com"))
}
