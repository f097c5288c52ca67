package tools_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/project"
	"flame/project/stack"
	"flame/project/usage"
	"flame/tests/hoststest"
)

func TestRecalledPicturesAreContentOfTheirOwn(t *testing.T) {
	t.Parallel()
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
