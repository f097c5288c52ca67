package tools_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/usage"
	"flame/store"
	"flame/tests/hoststest"
	"flame/tests/projecttest"
	"flame/tools"
)

// hidden returns flame_more and the tools that are called through it.
func hidden(t *testing.T, p *project.Project) (more tools.Tool, behind []tools.Tool) {
	all := tools.All(p, &agents.Agents{Setup: plan.Setup{Project: p}})
	chosen, err := tools.Select(all, "lean")
	require.NoError(t, err)
	direct := map[string]bool{}
	for _, tool := range chosen {
		direct[tool.Name] = true
	}
	for _, tool := range all {
		if !direct[tool.Name] {
			behind = append(behind, tool)
		}
	}
	more, err = tools.Find(all, "flame_more")
	require.NoError(t, err)
	return more, behind
}

func TestMoreListsDescribesAndCallsTheRest(t *testing.T) {
	p := newProject(t)
	more, behind := hidden(t, p)
	call := func(args string) (tools.Result, error) {
		return more.Call(t.Context(), project.Caller{Session: "s", Host: "test"}, json.RawMessage(args))
	}
	listed, err := call(`{}`)
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(listed.Text), "\n"), len(behind))
	for _, tool := range behind {
		assert.Contains(t, listed.Text, tool.Name+": ")
		told, err := call(fmt.Sprintf(`{"tool": %q}`, tool.Name))
		require.NoError(t, err)
		assert.Contains(t, told.Text, string(tool.Schema()), tool.Name)
		assert.Contains(t, told.Text, tool.Description, tool.Name)
		_, err = call(fmt.Sprintf(`{"tool": %q, "arguments": {"bogus": 1}}`, tool.Name))
		_, own := tool.Call(t.Context(), project.Caller{Session: "s", Host: "test"}, json.RawMessage(`{"bogus": 1}`))
		require.ErrorIs(t, err, core.ErrInvalid)
		assert.Equal(t, own, err, "as a call of its own")
		assert.False(t, tool.Hints.OpenWorld, tool.Name)
	}
	assert.False(t, more.Hints.ReadOnly)
	assert.False(t, more.Hints.Destructive, "what is invalidated or cancelled is kept, and Codex CLI would ask a person before each search")
	state, err := call(`{"tool": "flame_get_state", "arguments": {}}`)
	require.NoError(t, err)
	assert.NotNil(t, state.Structured)
}

func TestRecalledPicturesAreContentOfTheirOwn(t *testing.T) {
	c := converseWith(t, &agents.Agents{Setup: plan.Setup{Project: newProject(t), Hosts: hoststest.Known(), Machine: hoststest.With()}})
	by := project.Caller{Session: "s", Host: "claude-code", Event: "SessionStart", Trust: project.TrustHook}
	_, err := stack.Push(t.Context(), c.project, by, "look", "")
	require.NoError(t, err)
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\x0D\x0A\x1A\x0A"))
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF-1.7"))
	log := filepath.Join(t.TempDir(), "s.jsonl")
	require.NoError(t, os.WriteFile(log, []byte(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":[`+
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+png+`"}},`+
		`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"`+pdf+`"}}]}]}}`+"\n"), 0o600))
	require.NoError(t, usage.CountLater(t.Context(), c.project, by, log))

	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = "flame_recall", json.RawMessage(`{"call": "c1"}`)
	result, err := c.CallTool(c.ctx, request)
	require.NoError(t, err)
	require.Len(t, result.Content, 3)
	assert.Equal(t, mcp.NewImageContent(png, "image/png"), result.Content[1])
	document, is := result.Content[2].(mcp.EmbeddedResource)
	require.True(t, is)
	assert.Equal(t, mcp.BlobResourceContents{URI: "flame://recalled/2", MIMEType: "application/pdf", Blob: pdf}, document.Resource)
	_, text := c.call("flame_recall", `{"call": "c1", "offset": 10}`)
	assert.NotEmpty(t, text, "a later page has text alone")
}

// maxAnswer is how long an error may be, in bytes, whatever was passed.
const maxAnswer = 4096

// oversized returns calls of a tool with a huge text in each argument, in every shape, beside those
// that it must have, and as the name of one.
func oversized(t *testing.T, tool tools.Tool) (calls []map[string]any) {
	huge := strings.Repeat("a", 32<<10) // a file instead of its name
	arguments := schemaOf(t, tool)
	with := func(name string, value any) {
		args := map[string]any{}
		for _, must := range arguments.Required {
			args[must] = append(arguments.Properties[must].Enum, "x")[0]
		}
		if tool.Name == "spawn_agent" {
			maps.Copy(args, map[string]any{"prompt": "x", "subagent_type": "builder"})
		}
		args[name] = value
		calls = append(calls, args)
	}
	with(huge, 1)
	with("session_id", huge)
	for name := range arguments.Properties {
		for _, value := range []any{
			huge, []any{huge}, []any{huge, huge}, map[string]any{huge: huge}, []any{map[string]any{"goal": huge}}, []any{map[string]any{huge: 1}},
			map[string]any{huge: 1}, json.RawMessage(strings.Repeat("1", len(huge))),
		} {
			with(name, value)
		}
	}
	return calls
}

// An error once quoted an argument whole, and so filled the context of the model that had
// made the mistake.
func TestNoErrorQuotesAnArgumentWhole(t *testing.T) {
	data := filepath.Join(t.TempDir(), ".data")
	kept := projecttest.Open(t, data, store.Options{LongLived: true})
	a := newAgents(data, kept)
	a.Start = func(context.Context, supervise.StartSpec) (supervise.Process, error) {
		return supervise.Process{}, errors.New("none is to start")
	}
	for _, tool := range tools.All(a.Project, a) {
		for _, args := range oversized(t, tool) {
			raw, err := json.Marshal(args)
			require.NoError(t, err)
			_, err = tool.Call(context.Background(), project.Caller{Session: "s", Host: "test"}, raw)
			if err == nil {
				continue
			}
			text, _ := tools.ExplainError(err)
			assert.LessOrEqual(t, len(text), maxAnswer, "%s %.80s: %.300s", tool.Name, raw, text)
		}
	}
}
