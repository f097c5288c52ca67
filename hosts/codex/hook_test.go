package codex_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/codex"
	"flame/project"
	"flame/tests/hooktest"
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
			var standing project.Standing
			require.NoError(t, s.P.Store.View(t.Context(), func(tx project.Tx) (err error) {
				standing, err = project.StandingOf(tx, "main")
				return err
			}))
			assert.Equal(t, tt.want, standing.Mode)
		})
	}
}
