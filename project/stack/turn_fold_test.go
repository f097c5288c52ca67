package stack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/project/turns"
	"flame/tests/projecttest"
)

// TestTurnsLeaveRequestsOneBehind asks what is left out of the requests of a user who never mentions
// flame, and of an agent that never calls it: each turn has nine rounds.
func TestTurnsLeaveRequestsOneBehind(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		off   bool
		first string // what else happens in the first turn
		turns int
		gone  []string // turns whose work is left out
	}{
		"the last two turns stay":               {turns: 5, gone: []string{"1", "2", "3"}},
		"a session of two turns stays whole":    {turns: 2},
		"a turn with an open item keeps its id": {turns: 4, first: "lists pending:Later", gone: []string{"2"}},
		"they are not to fold":                  {off: true, turns: 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := teller{Fixture: projecttest.New(t)}
			d.Fold, d.FoldTurns = true, !tt.off
			var history []fold.Message
			says := func(m fold.Message) {
				m.Name, m.Time = fmt.Sprintf("%s-%d", m.Name, len(history)), d.Clock+1
				history = append(history, m)
			}
			var a turns.RequestEdits
			for i := range tt.turns {
				turn := fmt.Sprint(i + 1)
				d.step("asks Do " + turn)
				says(fold.Message{Name: "prompt", Role: core.RoleUser})
				if i == 0 && tt.first != "" {
					d.step(tt.first)
				}
				for range 9 {
					d.step("writes " + turn + ".go")
					says(fold.Message{Name: turn, Role: core.RoleAssistant, Tokens: 2_000})
					var err error
					a, err = turns.Amend(d.Ctx, d.Project, projecttest.Host("s"), turns.Request{History: history})
					require.NoError(t, err)
				}
				d.Tick()
				says(fold.Message{Name: "answer", Role: core.RoleAssistant, Text: "Did " + turn})
				d.step("says Did " + turn)
			}
			var gone []string
			for _, name := range a.Drop {
				turn, _, _ := strings.Cut(name, "-")
				if len(gone) == 0 || gone[len(gone)-1] != turn {
					gone = append(gone, turn)
				}
			}
			assert.Equal(t, tt.gone, gone)
			assert.Len(t, a.Drop, 9*len(gone), "prompts and answers stay")
		})
	}
}
