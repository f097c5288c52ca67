package stack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/evidence"
	"flame/core/fold"
	"flame/project/stack"
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
					a, err = turns.EditRequest(d.Ctx, d.Project, projecttest.Host("s"), turns.Request{History: history})
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

// TestItemsLeaveRequestsOneBehind asks what is left out of the requests of an agent that works through the
// list of its host under one prompt: each item has nine rounds, and the call that ends it begins the next one.
func TestItemsLeaveRequestsOneBehind(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		off   bool
		ids   bool   // the host gives its items ids, and the second adds the last one to the list
		then  string // what happens last
		turns bool   // then two prompts come
		items int
		gone  []string // items whose work is left out
	}{
		"the last one stays":                       {items: 4, gone: []string{"1", "2", "3"}},
		"the next one goes on":                     {items: 1},
		"they are not to fold":                     {off: true, items: 4},
		"an item that made an open one stays":      {ids: true, items: 4, gone: []string{"1", "3"}},
		"the turn stays for the open ones":         {turns: true, items: 3, gone: []string{"1", "2", "3"}},
		"a frame that the agent pushed in an item": {items: 3, then: "pushes B1", gone: []string{"1", "2"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := teller{Fixture: projecttest.New(t)}
			d.Fold, d.FoldPlans = true, !tt.off
			var history []fold.Message
			says := func(m fold.Message) {
				d.Tick()
				m.Name, m.Time = fmt.Sprintf("%s-%d", m.Name, len(history)), d.Clock
				history = append(history, m)
			}
			var a turns.RequestEdits
			amends := func() {
				var err error
				a, err = turns.EditRequest(d.Ctx, d.Project, projecttest.Host("s"), turns.Request{History: history})
				require.NoError(t, err)
			}
			follow := func(call evidence.ListCall) {
				d.Tick()
				require.NoError(t, stack.Follow(d.Ctx, d.Project, projecttest.Host("s"), "host/s", call, nil))
			}
			lists := func(done int) { // so many of one item more than there are
				says(fold.Message{Name: "list", Role: core.RoleAssistant, Text: "Next"})
				call := evidence.ListCall{Whole: !tt.ids}
				for i := range tt.items + 1 {
					item := evidence.Item{Text: fmt.Sprint("Item ", i+1), Status: evidence.ItemPending}
					if tt.ids {
						item.ID = fmt.Sprint(i + 1)
					}
					switch {
					case i < done:
						item.Status = evidence.ItemDone
					case i == done && done < tt.items:
						item.Status = evidence.ItemActive
					}
					if !tt.ids || i < tt.items {
						call.Items = append(call.Items, item)
					}
				}
				follow(call)
			}
			d.step("asks Do it")
			says(fold.Message{Name: "prompt", Role: core.RoleUser})
			lists(0)
			for i := range tt.items + 1 {
				for round := range 9 {
					d.step("writes " + fmt.Sprint(i+1) + ".go")
					says(fold.Message{Name: fmt.Sprint(i + 1), Role: core.RoleAssistant, Tokens: 2_000})
					if tt.ids && i == 1 && round == 4 {
						follow(evidence.ListCall{Created: true, Items: []evidence.Item{{ID: "9", Text: "Later"}}})
					}
					amends()
				}
				if i < tt.items {
					lists(i + 1)
				}
			}
			if tt.then != "" {
				d.step(tt.then)
				amends()
			}
			for i := range 2 {
				if tt.turns {
					d.step("says Did it")
					says(fold.Message{Name: "answer", Role: core.RoleAssistant, Text: "Did it"})
					d.step(fmt.Sprint("asks More ", i))
					says(fold.Message{Name: "prompt", Role: core.RoleUser})
					amends()
				}
			}
			var gone []string
			for _, name := range a.Drop {
				item, _, _ := strings.Cut(name, "-")
				if len(gone) == 0 || gone[len(gone)-1] != item {
					gone = append(gone, item)
				}
			}
			assert.Equal(t, tt.gone, gone)
			assert.Len(t, a.Drop, 9*len(gone), "the calls that ended items stay, with the words before them")
		})
	}
}
