package codex_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/codex"
	"flame/project"
	"flame/tests/hooktest"
	"flame/tests/projecttest"
)

func TestHook(t *testing.T) { hooktest.Run(t, codex.Host(nil), "testdata") }

func newSession(t *testing.T) *hooktest.Session {
	t.Helper()
	return hooktest.Of(t, codex.Host(nil), "testdata").New(t)
}

func TestAllFilesOfAPatchBecomeArtifacts(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt", "main work")
	s.Do("files written")
	assert.Equal(t, []string{"a.txt", "b.txt", "/elsewhere/c.txt"}, s.Current("").Artifacts)
}

func TestASubagentsPromptIsNoPrompt(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.Do("prompt of a child", "look")
	assert.Empty(t, s.Tree())
}

// Codex reports every session that asks for nothing as unlimited; its sandbox says what it may do.
func TestAgentsMayDoNoMoreThanTheSandboxOfTheirCaller(t *testing.T) {
	t.Parallel()
	in := func(sandbox string) string {
		return `{"timestamp":"2026-11-24T19:01:49.022Z","type":"turn_context","payload":{"sandbox_policy":{"type":"` + sandbox + `"}}}`
	}
	tests := map[string]struct{ log, reported, want string }{
		"unlimited":               {in("danger-full-access"), "bypassPermissions", "bypassPermissions"},
		"it asks":                 {in("danger-full-access"), "default", "default"},
		"it writes the workspace": {in("workspace-write"), "bypassPermissions", "acceptEdits"},
		"it reads":                {in("read-only"), "bypassPermissions", "plan"},
		"it plans":                {in("danger-full-access"), "plan", "plan"},
		"an unknown sandbox":      {in("external-sandbox"), "bypassPermissions", "plan"},
		"no log":                  {"", "bypassPermissions", "plan"},
		"a torn log":              {`{"type":"turn_context","payload":{"sandbox_po`, "bypassPermissions", "plan"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.Write("logs/rollout-main.jsonl", tt.log+"\n")
			s.Once("prompt in a mode", tt.reported)
			answer := s.Once("agent asked in a mode", tt.reported)
			assert.Contains(t, answer, `"session_id":"main"`)
			assert.Contains(t, answer, `"permissionDecision":"allow"`, "without it Codex ignores the arguments")
			var standing project.SessionPermissions
			require.NoError(t, s.P.Store.View(t.Context(), func(tx project.Tx) (err error) {
				standing, err = project.PermissionsOf(tx, "main")
				return err
			}))
			assert.Equal(t, tt.want, standing.Mode)
		})
	}
}

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
			assert.Equal(t, project.Caller{Session: "child", Parent: "main", Trust: project.TrustHook}, by)
		})
	}
}
