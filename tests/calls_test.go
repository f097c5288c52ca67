package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// printsItsEnvironment is a claude that completes its task and writes its environment into HOME.
const printsItsEnvironment = `#!/bin/sh
[ "$1" = --version ] && echo "9.9.9 (Claude Code)" && exit
cat > /dev/null
env > "$HOME/env.new" && mv "$HOME/env.new" "$HOME/env"
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"done","usage":{}}'
`

// over calls a tool of a server and returns the text of the answer, and whether it is an error.
func over(t *testing.T, c *client.Client, tool string, args map[string]any, callID string) (text string, failed bool) {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, args
	request.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"claudecode/toolUseId": callID}}
	result, err := c.CallTool(t.Context(), request)
	require.NoError(t, err)
	return result.Content[0].(mcp.TextContent).Text, result.IsError
}

// A client over HTTP is its own session, whatever it writes, and what its agents are started with
// does not let them call the server.
func TestAClientOverHTTPIsItselfAlone(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-this-test-alone"
	home, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "bin", "claude"), []byte(printsItsEnvironment), 0o700))
	path := "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH")
	hook := func(event string) string {
		cmd := exec.Command(flameBinary(t), "hook", "claude-code")
		cmd.Dir, cmd.Env, cmd.Stdin = dir, []string{"HOME=" + home, "FLAME_PROJECT_DIR=" + dir, path}, strings.NewReader(event)
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	hook(`{"hook_event_name": "UserPromptSubmit", "session_id": "theirs", "prompt_id": "p",
		"prompt": "Their work", "permission_mode": "bypassPermissions"}`)
	var vouched struct {
		HookSpecificOutput struct{ UpdatedInput map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(hook(`{"hook_event_name": "PreToolUse", "session_id": "theirs", "tool_use_id": "toolu_1",
		"tool_name": "mcp__flame__flame_push", "tool_input": {"goal": "REPLAYED"}, "mcp_server": {"name": "flame", "source": "user"}}`)), &vouched))
	replayed := vouched.HookSpecificOutput.UpdatedInput
	require.NotEmpty(t, replayed["flame_proof"])

	s := serveProject(t, home, dir, path, "FLAME_HTTP_TOKEN="+token)
	c, err := client.NewStreamableHttpClient(s.url, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	require.NoError(t, c.Start(t.Context()))
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = mcp.LATEST_PROTOCOL_VERSION, mcp.Implementation{Name: "cli", Version: "1"}
	_, err = c.Initialize(t.Context(), hello)
	require.NoError(t, err)
	for i, args := range []map[string]any{
		replayed, {"goal": "FORGED", "session_id": "theirs"}, {"goal": "FORGED", "agent_id": "theirs"},
		{"goal": "FORGED", "session_id": "theirs", "flame_proof": "x"},
	} {
		text, failed := over(t, c, "flame_push", args, "toolu_1")
		require.False(t, failed, "%d: %s", i, text)
	}
	text, _ := over(t, c, "flame_tree", nil, "toolu_2")
	assert.Regexp(t, `(?m)^→ Their work \[frame-[a-z0-9]{8}\]$`, text)
	assert.NotRegexp(t, `Their work[^\n]*\n[├└]`, text, "nothing is below it")
	var event mcp.CallToolRequest
	event.Params.Name, event.Params.Arguments = "hook", map[string]any{"hook_event_name": "UserPromptSubmit", "session_id": "theirs", "prompt": "x"}
	_, err = c.CallTool(t.Context(), event)
	require.Error(t, err, "only a host reports events so, over stdio")

	text, failed := over(t, c, "spawn_agent", map[string]any{
		"subagent_type": "analyzer", "prompt": "look", "description": "look", "agent_id": "theirs", "permission_mode": "bypassPermissions",
	}, "toolu_3")
	require.False(t, failed, text)
	assert.Contains(t, text, "Mode: default", "not theirs")
	var inherited []byte
	require.Eventually(t, func() bool {
		inherited, err = os.ReadFile(filepath.Join(home, "env"))
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	assert.Contains(t, string(inherited), "FLAME_AGENT=")
	for _, secret := range []string{"FLAME_HTTP_TOKEN", "FLAME_GATEWAY_SECRET", token} {
		assert.NotContains(t, string(inherited), secret)
	}
	_, _ = over(t, c, "flame_agent_wait", map[string]any{"subagent_id": strings.Fields(text)[0]}, "toolu_4")
}
