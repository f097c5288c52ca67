package claudecode_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/stack"
	"flame/tests/projecttest"
)

// A line of a session's log.
func logged(role string, content any) string {
	line, err := json.Marshal(map[string]any{"type": role, "sessionId": "main", "message": map[string]any{
		"role": role, "model": "claude-opus-5-5", "content": content, "usage": map[string]any{"input_tokens": 9_000},
	}})
	if err != nil {
		panic(err)
	}
	return string(line)
}

// ran are the lines of a command.
func ran(id, command, output string, failed bool) string {
	return logged("assistant", []map[string]any{{"type": "tool_use", "id": id, "name": "Bash", "input": map[string]any{"command": command}}}) + "\n" +
		logged("user", []map[string]any{{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}})
}

// scene returns what flame noted of the session's conversation.
func (s *session) scene() (scene autonomy.SessionActivity) {
	s.T.Helper()
	require.NoError(s.T, s.P.Store.View(s.T.Context(), func(tx project.Tx) error {
		_, err := tx.Record("session.scene", "main", &scene)
		return err
	}))
	return scene
}

func TestTheCallsOfATurnAreReadFromItsLog(t *testing.T) {
	t.Parallel()
	works := ran("1", "go test ./...", "ok", false)
	want := []evidence.Call{{Tool: "Bash", Input: "go test ./...", OK: true, Exit: new(0), Output: "ok"}}
	end := map[string]any{"last_assistant_message": "All green.", "background_tasks": []any{}}
	tests := map[string]struct {
		play   func(s *session)
		calls  []evidence.Call
		recent []string
	}{
		"when it ends": {func(s *session) {
			s.Write("logs/main.jsonl", strings.Join([]string{logged("user", "main work"), works, logged("assistant", "All green.")}, "\n")+"\n")
			s.send("Stop", end)
		}, want, []string{"main work", "All green."}},
		"and not without a log": {func(s *session) { s.send("Stop", end) }, nil, []string{"main work", "All green."}},
		"nor in one of something else": {func(s *session) {
			s.Write("logs/main.jsonl", strings.Join([]string{"\x00\x01", strings.Repeat("{", 300_000), `{"type":"user","sessionId":"main","message":7}`}, "\n")+"\n")
			s.send("Stop", end)
		}, nil, []string{"main work", "All green."}},
		"where an error ended it": {func(s *session) {
			s.Write("logs/main.jsonl", strings.Join([]string{logged("user", "main work"), works}, "\n")+"\n")
			s.send("StopFailure", map[string]any{"error": "API Error: 529 Overloaded"})
		}, want, []string{"main work", "API Error: 529 Overloaded"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			s.Once("prompt", "main work")
			tt.play(s)
			m := s.scene()
			assert.Equal(t, tt.calls, m.Calls)
			var recent []string
			for _, message := range m.Recent {
				recent = append(recent, message.Text)
			}
			assert.Equal(t, tt.recent, recent)
			if tt.calls != nil {
				assert.Equal(t, "claude-opus-5-5", m.Model)
			}
			s.Once("prompt", "and more")
			assert.Empty(t, s.scene().Calls, "another turn began")
			s.send("SessionEnd", nil)
			require.NoError(t, s.P.Store.View(t.Context(), func(tx project.Tx) error {
				known, err := tx.Record("session.scene", "main", new(json.RawMessage))
				assert.False(t, known, "it goes with the session")
				return err
			}))
		})
	}
}

func TestATurnThatDidNotEndByItselfIsSeenWithTheNextPrompt(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.P.Autonomy.Level = core.AutonomySuggest
	s.Once("prompt", "main work")
	s.Write("logs/main.jsonl", logged("user", "main work")+"\n"+ran("1", "make", "Exit code 2\nno rule", true)+"\n")
	s.Write("logs/main.jsonl", logged("user", "[Request interrupted by user]")+"\n")
	s.Once("prompt", "wait, not that")
	m := s.scene()
	require.Len(t, m.Recent, 3)
	assert.Equal(t, evidence.Message{Role: core.RoleUser, Text: "[Request interrupted by user]"}, m.Recent[1])
}

// The frame after a pop is not judged by the work of the frame before it.
func TestTheWorkBeforeAPopSaysNothingOfTheNextFrame(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	s.P.Autonomy.Level = core.AutonomyAuto
	s.Once("prompt", "main work")
	by := projecttest.Host("main")
	_, err := stack.Push(t.Context(), s.P, by, "card tokenizer", "tests pass")
	require.NoError(t, err)
	s.Once("prompt", "do the tokenizer for card numbers")
	s.send("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": s.Dir + "/tok.go"}})
	_, err = stack.Pop(t.Context(), s.P, by, stack.PopArgs{Status: core.Completed, Summary: "Tokenizer done, tests pass", Next: "refund endpoint"})
	require.NoError(t, err)
	const said = "The card tokenizer is finished; all tests pass."
	pop := logged("assistant", []map[string]any{{"type": "tool_use", "id": "p", "name": "mcp__plugin_flame_flame__flame_pop", "input": map[string]any{}}}) + "\n" +
		logged("user", []map[string]any{{"type": "tool_result", "tool_use_id": "p", "content": "popped"}})
	s.Write("logs/main.jsonl", strings.Join([]string{
		logged("user", "do the tokenizer for card numbers"), ran("1", "go test ./...", "ok  \tshop/tok\t0.01s", false), pop, logged("assistant", said),
	}, "\n")+"\n")
	s.send("Stop", map[string]any{"last_assistant_message": said, "background_tasks": []any{}})
	assert.Equal(t, "refund endpoint", s.Current("").Goal, s.Tree())
	assert.NotContains(t, s.Once("prompt", "ok, go on"), "SUGGESTION")
}
