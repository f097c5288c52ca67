package tests

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"flame/tests/model"
)

// After a day of short sessions and long ones, only open work looks open, and flame
// offers it to the next session. Goals are the first lines of prompts, so the words for the
// scripted model are in the second lines.
func TestADayOfSessionsLeavesOnlyOpenWorkOpen(t *testing.T) {
	t.Parallel()
	const long, short = 2, 2
	u := newUser(t, claudeCode, openCode)
	u.must(u.flame, "setup")
	var script model.Script
	for i := range long {
		key := fmt.Sprint("KEY-LONG-", i)
		script = append(script, asked(key, key, calls("flame_push", map[string]any{"goal": fmt.Sprint("Part ", i)}), model.Turn{Text: "so far"}))
	}
	for i := range short {
		key := fmt.Sprintf("KEY-SHORT-%02d", i)
		script = append(script, asked(key, key, model.Turn{Text: fmt.Sprintf("Answer %02d", i)}))
	}
	u.model.Play(append(script, asked("next", "KEY-NEXT", model.Turn{Text: "well"})))
	clients := []string{claudeCode, openCode}
	for i := range long {
		u.ask(clients[i%2], fmt.Sprintf("Long work %d\nKEY-LONG-%[1]d", i))
	}
	for i := range short {
		u.ask(clients[i%2], fmt.Sprintf("Question %02d\nKEY-SHORT-%02[1]d", i))
	}
	open := func() (open int) {
		for _, frame := range u.state().Frames {
			if frame.Status == "in_progress" {
				open++
			}
		}
		return open
	}
	if !assert.Eventually(t, func() bool { return open() == 2*long }, patience, 200*time.Millisecond) {
		t.Log(u.must(u.flame, "tree"), u.must(u.flame, "sessions", "--all"), u.log())
	}
	for i := range short {
		frame := u.frame(fmt.Sprintf("Question %02d", i))
		assert.Equal(t, "completed", frame.Status)
		assert.Equal(t, fmt.Sprintf("Answer %02d", i), frame.CompactionSummary)
	}
	u.ask(claudeCode, "What next?\nKEY-NEXT")
	told := u.model.By("next")[0].Everything()
	for i := range long {
		assert.Equal(t, "in_progress", u.frame(fmt.Sprint("Part ", i)).Status)
		assert.Contains(t, told, u.frame(fmt.Sprint("Long work ", i)).SessionID, "the next session is offered it")
	}
}
