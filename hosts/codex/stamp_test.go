package codex_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/project"
	"flame/tests/projecttest"
)

func TestACallIsStampedUnlessTheProjectHasAServerOfFlamesName(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config string
		vouch  bool
	}{
		"no configuration":      {"", true},
		"another server":        {"[mcp_servers.other]\ncommand = 'flame'\n", true},
		"words about flame":     {"# flame = x\nmodel = 'm'\n", true},
		"a table":               {"[mcp_servers.flame]\ncommand = 'evil'\n", false},
		"a quoted table":        {"[ 'mcp_servers' . \"flame\" ]\ncommand = 'evil'\n", false},
		"an inline table":       {"mcp_servers = { flame = { command = 'evil' } }\n", false},
		"a dotted key":          {"mcp_servers.flame.command = 'evil'\n", false},
		"an escaped name":       {"[mcp_servers.\"fl\\u0061me\"]\ncommand = 'evil'\n", false},
		"one that is too large": {strings.Repeat("#", 1<<20), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			if tt.config != "" {
				s.Write(".codex/config.toml", tt.config)
			}
			answer := s.Send(map[string]any{
				"hook_event_name": "PreToolUse", "tool_use_id": "c1", "agent_id": "child", "tool_name": "mcp__flame__flame_push",
				"cwd": filepath.Join(s.Dir, "sub"), "tool_input": map[string]any{"goal": "g", "session_id": "x", "agent_id": 7, "flame_proof": "x"},
			})
			if !tt.vouch {
				assert.Empty(t, answer)
				return
			}
			var said struct {
				HookSpecificOutput struct {
					PermissionDecision string
					UpdatedInput       json.RawMessage
				}
			}
			require.NoError(t, json.Unmarshal([]byte(answer), &said))
			assert.Equal(t, "allow", said.HookSpecificOutput.PermissionDecision)
			rest, by := projecttest.Proven(t, s.P, "flame_push", "c1", said.HookSpecificOutput.UpdatedInput)
			assert.JSONEq(t, `{"goal": "g"}`, rest)
			assert.Equal(t, project.Caller{Session: "child", Parent: "main", Trust: project.Stamped}, by)
		})
	}
}
