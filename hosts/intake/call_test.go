package intake_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/intake"
	"flame/project"
	"flame/tests/cases"
)

// caller is what takes in calls of the server by Claude Code's hooks.
func (s *station) caller() intake.ToolHook {
	return intake.ToolHook{Handler: s.Handler, Host: s.host("claude-code"), Worktree: func(string) string { return "/project" }}
}

// filled is the input of a hook as the client fills it in: every field is a string.
func filled(t *testing.T, fields map[string]string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(fields)
	require.NoError(t, err)
	return raw
}

func TestACallIsTakenInAsTheEventOfAProcess(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	c := s.caller()
	prompt := map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": "c", "prompt_id": "p", "prompt": `Say "${session_id}" {}`, "tool_input": ""}
	assert.Equal(t, "{}", c.Answer(t.Context(), filled(t, prompt)), "silence is not an empty answer, which the model would read")
	assert.Equal(t, []string{`in_progress Say "${session_id}" {}`}, s.tree())

	stamp := c.Answer(t.Context(), filled(t, map[string]string{
		"hook_event_name": "PreToolUse", "session_id": "c", "tool_name": "mcp__plugin_flame_flame__flame_push", "tool_use_id": "t", "tool_input": `{"goal":"x"}`,
	}))
	assert.Contains(t, stamp, `"permissionDecision":"allow"`)
	assert.Contains(t, stamp, `"goal":"x","session_id":"c"`)

	c.Answer(t.Context(), filled(t, map[string]string{
		"hook_event_name": "Stop", "session_id": "c", "prompt_id": "p", "last_assistant_message": "done", "background_tasks": "[]",
	}))
	c.Answer(t.Context(), filled(t, map[string]string{"hook_event_name": "SessionEnd", "session_id": "c", "prompt_id": "p", "reason": "clear"}))
	assert.Equal(t, []string{`completed Say "${session_id}" {}`}, s.tree())
}

func TestACallTellsOfAFile(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct{ Input, Want string }](t, "testdata/files.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			c := s.caller()
			c.Answer(t.Context(), filled(t, map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": "c", "prompt_id": "p", "prompt": "Work"}))
			assert.Equal(t, "{}", c.Answer(t.Context(), json.RawMessage(
				`{"hook_event_name": "PostToolUse", "session_id": "c", "tool_name": "Write", "tool_use_id": "t", "cwd": "/project", "tool_input": `+tt.Input+`}`)))
			require.NoError(t, s.Project.Store.View(t.Context(), func(tx project.Tx) error {
				frames, err := tx.FindFrames(project.FrameQuery{})
				require.Len(t, frames, 1)
				assert.Equal(t, tt.Want, strings.Join(frames[0].Artifacts, " "))
				return err
			}))
		})
	}
}

func TestACallThatMeetsALockIsTakenInLater(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.locked(func() {
		event := map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": "c", "prompt_id": "p", "prompt": "Work"}
		assert.Equal(t, "{}", s.caller().Answer(t.Context(), filled(t, event)))
	})
	assert.Empty(t, s.tree())
	require.NoError(t, s.TakeIn(t.Context()))
	assert.Equal(t, []string{"in_progress Work"}, s.tree())
}

func TestACallOfBadInputIsSilent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3<<20)
	type row struct {
		Arguments string
		Off       bool
		Want      string
	}
	tests := cases.Read[row](t, "testdata/silent.yaml")
	tests["much"] = row{`{"hook_event_name": "Stop", "session_id": "c", "last_assistant_message": "` + long + `"}`, false, "{}"}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			c := s.caller()
			c.Off = tt.Off
			assert.Equal(t, tt.Want, c.Answer(t.Context(), json.RawMessage(tt.Arguments)))
			assert.Empty(t, s.tree())
		})
	}
}
