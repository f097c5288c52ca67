package tests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// uses returns a turn with one call of a host's tool.
func uses(tool string, input map[string]any) model.Turn {
	return model.Turn{Tools: []model.Tool{{Name: tool, Input: input}}}
}

// shows waits until the files of a frame have a line.
func (u *user) shows(goal, line string) {
	u.t.Helper()
	var shown string
	require.Eventually(u.t, func() bool {
		shown = u.must(u.flame, "show", u.frame(goal).SessionID)
		return strings.Contains(shown, line+"\n")
	}, patience, 200*time.Millisecond, "%s", line)
}

func TestFramesShowTheFilesThatClaudeChanged(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.must(u.flame, "setup", claudeCode)
	u.write("old.txt", "one\ntwo\nthree\n")
	at := u.project + "/"
	u.model.Play(model.Script{
		asked("leaf", "LEAFWORK", uses("Write", map[string]any{"file_path": at + "sub.txt", "content": "by the subagent\n"}), model.Turn{Text: "LEAF-RESULT"}),
		asked("main", "MAINWORK",
			uses("Read", map[string]any{"file_path": at + "old.txt"}),
			uses("Edit", map[string]any{"file_path": at + "old.txt", "old_string": "two", "new_string": "TWO\nmore"}),
			uses("Edit", map[string]any{"file_path": at + "old.txt", "old_string": "absent", "new_string": "x"}),
			uses("Write", map[string]any{"file_path": at + "new.txt", "content": "a\nb\n"}),
			model.Turn{Tools: []model.Tool{agent("look at the leaf", "LEAFWORK go", false)}},
			model.Turn{Text: "MAIN-RESULT"}),
	})
	u.must("claude", "-p", "--output-format", "json", "--permission-mode", "acceptEdits", "MAINWORK please")
	u.shows("MAINWORK please", "Files: new.txt (added) +2 -0, old.txt +2 -1")
	u.shows("look at the leaf", "Files: sub.txt (added) +1 -0")
	patches := u.must(u.flame, "show", u.frame("MAINWORK please").SessionID, "--diff")
	assert.Contains(t, patches, "old.txt +2 -1\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+more\n three\n")
}

func TestFramesShowTheFilesThatOpenCodeChanged(t *testing.T) {
	t.Parallel()
	u := newUser(t, openCode)
	u.must(u.flame, "setup", openCode)
	u.write("old.txt", "one\ntwo\nthree\n")
	at := u.project + "/"
	u.model.Play(model.Script{asked("main", "MAINWORK",
		uses("read", map[string]any{"filePath": at + "old.txt"}),
		uses("edit", map[string]any{"filePath": at + "old.txt", "oldString": "two", "newString": "TWO\nmore"}),
		uses("edit", map[string]any{"filePath": at + "old.txt", "oldString": "absent", "newString": "x"}),
		uses("write", map[string]any{"filePath": at + "new.txt", "content": "a\nb\n"}),
		model.Turn{Text: "MAIN-RESULT"})})
	u.ask(openCode, "MAINWORK please")
	u.shows("MAINWORK please", "Files: new.txt (added) +2 -0, old.txt +2 -1")
}
