package claudecode_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/hosts/claudecode"
	"flame/project"
	"flame/tests/cases"
	"flame/tests/projecttest"
	"flame/tools"
)

// The servers' names in the payloads of Claude Code, and none, as older versions tell.
const (
	byHand   = "flame"
	byPlugin = "plugin:flame:flame"
	unnamed  = ""
)

// A vouching is what the hook answers to a call.
type vouching struct {
	PermissionDecision string
	UpdatedInput       json.RawMessage
}

// vouched returns the answer to a call of a tool with the arguments of a model that poses
// as another session.
func (s *session) vouched(tool, server, source, agent, input string) (v vouching) {
	s.T.Helper()
	fields := map[string]any{"tool_name": tool, "tool_use_id": "t", "agent_id": agent, "tool_input": json.RawMessage(input)}
	if server != unnamed {
		fields["mcp_server"] = map[string]any{"name": server, "source": source}
	}
	raw := s.send("PreToolUse", fields)
	if raw == "" {
		return v
	}
	answer := struct{ HookSpecificOutput *vouching }{&v}
	require.NoError(s.T, json.Unmarshal([]byte(raw), &answer))
	return v
}

// posed are the arguments of a model that poses as another session.
const posed = `{"goal": "x", "session_id": "the model's own"}`

func TestOurToolsAreStampedAndAllowed(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct{ Tool, Server, Agent, Allowed string }](t, "testdata/stamped.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			require.NoError(t, s.P.SetOff(context.Background(), true), "even if hooks are off")
			answer := s.vouched(tt.Tool, tt.Server, "dynamic", tt.Agent, posed)
			assert.Equal(t, tt.Allowed, answer.PermissionDecision)
			rest, by := projecttest.Proven(t, s.P, tt.Tool[strings.LastIndex(tt.Tool, "__")+2:], "t", answer.UpdatedInput)
			assert.JSONEq(t, `{"goal": "x"}`, rest)
			assert.Equal(t, cmp.Or(tt.Agent, "main"), by.Session)
			assert.Equal(t, tt.Agent != "", by.Parent == "main")
		})
	}
}

// A model can write anything into the arguments, and a project's server can have our name.
func TestWhatAModelWritesNamesNobody(t *testing.T) {
	t.Parallel()
	const push = "mcp__flame__flame_push"
	forged := map[string]string{
		"texts":        `{"session_id": "x", "agent_id": "x", "flame_proof": "x"}`,
		"numbers":      `{"session_id": 1, "agent_id": 2.5, "flame_proof": 1e99}`,
		"nothing":      `{"session_id": null, "agent_id": null, "flame_proof": null}`,
		"objects":      `{"session_id": {"a": 1}, "agent_id": [1], "flame_proof": {}}`,
		"escapes":      `{"session\u005fid": "x", "\u0061gent_id": "x"}`,
		"a name twice": `{"agent_id": "x", "agent_id": "y", "session_id": "x", "session_id": "y"}`,
		"null":         `null`,
	}
	for name, input := range forged {
		s := newSession(t)
		rest, by := projecttest.Proven(t, s.P, "flame_push", "t", s.vouched(push, byHand, "user", "", input).UpdatedInput)
		assert.Equal(t, project.Caller{Session: "main", Trust: project.TrustHook}, by, name)
		assert.Equal(t, "{}", rest, name)
	}
	s := newSession(t)
	rest, _ := projecttest.Proven(t, s.P, "flame_push", "t", s.vouched(push, byHand, "user", "", `{"Agent_ID": "x", "arguments": {"agent_id": "x"}}`).UpdatedInput)
	assert.JSONEq(t, `{"Agent_ID": "x", "arguments": {"agent_id": "x"}}`, rest, "no names of ours")
	for _, tool := range []string{push, "mcp__flame__spawn_agent"} {
		assert.Zero(t, s.vouched(tool, byHand, "project", "", posed), "a server that came with the project")
	}
	s.P.StampKey = func(context.Context, bool) (project.StampKey, error) { return nil, errors.New("damaged") }
	answer, err := claudecode.Hook(t.Context(), s.Flame(), []byte(`{"hook_event_name": "PreToolUse", "session_id": "main",
		"tool_name": "mcp__flame__flame_push", "tool_input": `+posed+`}`))
	require.ErrorContains(t, err, "damaged")
	assert.JSONEq(t, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"goal": "x"}}}`, string(answer), "neither named nor allowed")
}

func TestToolsThatOnlyLookLikeFlamesAreNotStamped(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/lookalikes.json")
	require.NoError(t, err)
	var tests map[string]struct{ Tool, Server string }
	require.NoError(t, json.Unmarshal(raw, &tests))
	require.Greater(t, len(tests), 45)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Zero(t, newSession(t).vouched(tt.Tool, tt.Server, "dynamic", "a1", posed), "%q of %q", tt.Tool, tt.Server)
		})
	}
}

// matched is how Claude Code reads a matcher.
func matched(t *testing.T) *regexp.Regexp {
	t.Helper()
	raw, err := os.ReadFile("plugin/hooks/hooks.json")
	require.NoError(t, err)
	var file struct {
		Hooks map[string][]struct{ Matcher string }
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	return regexp.MustCompile(file.Hooks["PreToolUse"][0].Matcher)
}

func TestEveryToolOfOursReachesTheHookAndIsVouchedFor(t *testing.T) {
	t.Parallel()
	matcher, s := matched(t), newSession(t)
	for _, tool := range tools.All(&project.Project{}, &agents.Agents{}) {
		for server, prefix := range map[string]string{byHand: "mcp__flame__", byPlugin: "mcp__plugin_flame_flame__"} {
			assert.Regexp(t, matcher, prefix+tool.Name)
			assert.NotEmpty(t, s.vouched(prefix+tool.Name, server, "dynamic", "", posed).UpdatedInput, tool.Name)
		}
	}
}
