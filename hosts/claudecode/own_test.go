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
	tests := map[string]struct{ tool, server, agent, allowed string }{
		"in the session":                   {"mcp__flame__flame_push", byHand, "", "allow"},
		"as a plugin's":                    {"mcp__plugin_flame_flame__flame_push", byPlugin, "", "allow"},
		"in a subagent":                    {"mcp__flame__flame_push", byHand, "a1", "allow"},
		"of an older client":               {"mcp__flame__flame_push", unnamed, "", "allow"},
		"as a plugin's of an older client": {"mcp__plugin_flame_flame__flame_push", unnamed, "", "allow"},
		"one that starts an agent":         {"mcp__flame__spawn_agent", byHand, "", ""},
		"a plugin's that starts an agent":  {"mcp__plugin_flame_flame__spawn_agent", byPlugin, "a1", ""},
		"one that starts, of older ones":   {"mcp__flame__spawn_agent", unnamed, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			require.NoError(t, s.P.SetOff(context.Background(), true), "even if hooks are off")
			answer := s.vouched(tt.tool, tt.server, "dynamic", tt.agent, posed)
			assert.Equal(t, tt.allowed, answer.PermissionDecision)
			rest, by := projecttest.Proven(t, s.P, tt.tool[strings.LastIndex(tt.tool, "__")+2:], "t", answer.UpdatedInput)
			assert.JSONEq(t, `{"goal": "x"}`, rest)
			assert.Equal(t, cmp.Or(tt.agent, "main"), by.Session)
			assert.Equal(t, tt.agent != "", by.Parent == "main")
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
		assert.Equal(t, project.Caller{Session: "main", Trust: project.Stamped}, by, name)
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
	tests := map[string]struct{ tool, server string }{
		"another server's":                      {"mcp__evil__flame_push", "evil"},
		"another's that does not name itself":   {"mcp__evil__flame_push", unnamed},
		"another's that names itself ours":      {"mcp__evil__flame_push", byHand},
		"another's under our prefix":            {"mcp__flame__flame_push", "evil"},
		"one whose name begins with ours":       {"mcp__flame_evil__flame_push", "flame_evil"},
		"the same, unnamed":                     {"mcp__flame_evil__flame_push", unnamed},
		"the same, named as ours":               {"mcp__flame_evil__flame_push", byHand},
		"one whose name has our prefix in it":   {"mcp__flame__x__flame_push", "flame__x"},
		"the same, in an older client":          {"mcp__flame__x__flame_push", unnamed},
		"one whose name ends with ours":         {"mcp__evil_flame__flame_push", "evil:flame"},
		"one whose name has underscores more":   {"mcp__flame___flame_push", "flame_"},
		"one that a client writes as ours":      {"mcp__plugin_flame_flame__flame_push", "plugin_flame_flame"},
		"a plugin's server that is not ours":    {"mcp__plugin_evil_flame__flame_push", "plugin:evil:flame"},
		"another server of a plugin's":          {"mcp__plugin_flame_evil__flame_push", "plugin:flame:evil"},
		"the plugin's tool, by hand":            {"mcp__plugin_flame_flame__flame_push", byHand},
		"the tool by hand, of the plugin":       {"mcp__flame__flame_push", byPlugin},
		"a server in other letters":             {"mcp__flame__flame_push", "Flame"},
		"a server with a blank":                 {"mcp__flame__flame_push", "flame "},
		"no server":                             {"flame_push", unnamed},
		"no server's prefix":                    {"flame_push", byHand},
		"half a prefix":                         {"flame__flame_push", unnamed},
		"a prefix before the prefix":            {"x__mcp__flame__flame_push", unnamed},
		"a tool that there is none of":          {"mcp__flame__flame_rm", byHand},
		"that tool, unnamed":                    {"mcp__flame__flame_rm", unnamed},
		"a tool of another name":                {"mcp__flame__echo", byHand},
		"a tool whose name begins with ours":    {"mcp__flame__flame_push_all", byHand},
		"a tool whose name begins as ours does": {"mcp__flame__flame_pus", byHand},
		"a tool with a tail":                    {"mcp__plugin_flame_flame__flame_push__x", byPlugin},
		"a tool in capitals":                    {"mcp__flame__FLAME_PUSH", byHand},
		"a tool with a capital":                 {"mcp__flame__flame_Push", byHand},
		"a prefix in capitals":                  {"MCP__flame__flame_push", byHand},
		"a letter that looks the same":          {"mcp__flame__flame_\u0440ush", byHand},
		"a server's letter that does":           {"mcp__fl\u0430me__flame_push", "fl\u0430me"},
		"a letter that folds to ours":           {"mcp__flame__flame_pu\u017fh", byHand},
		"a blank behind":                        {"mcp__flame__flame_push ", byHand},
		"a line end behind":                     {"mcp__flame__flame_push\n", byHand},
		"a line end before":                     {"\nmcp__flame__flame_push", byHand},
		"a zero behind":                         {"mcp__flame__flame_push\x00", byHand},
		"another's that starts agents":          {"mcp__evil__spawn_agent", "evil"},
		"that one, named as ours":               {"mcp__evil__spawn_agent", byHand},
		"that one, in an older client":          {"mcp__evil__spawn_agent", unnamed},
		"a server that begins with ours":        {"mcp__flame_evil__spawn_agent", unnamed},
		"one that starts agents, without":       {"spawn_agent", byHand},
		"one that starts agents, with a tail":   {"mcp__flame__spawn_agent_x", byHand},
		"one that starts agents, below":         {"mcp__flame__x__spawn_agent", unnamed},
		"an own name twice":                     {"mcp__flame__mcp__flame__flame_push", byHand},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Zero(t, newSession(t).vouched(tt.tool, tt.server, "dynamic", "a1", posed), "%q of %q", tt.tool, tt.server)
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
