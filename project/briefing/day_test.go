package briefing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/turns"
	"flame/tests/projecttest"
)

// The ways of the sessions of a day, by their turn; each leaves nothing open.
var shortWays = []func(f *projecttest.Fixture, by project.Caller){
	func(f *projecttest.Fixture, by project.Caller) { f.Rest(by, "all green") },
	func(*projecttest.Fixture, project.Caller) {}, // cut short
	func(f *projecttest.Fixture, by project.Caller) {
		f.Push(by, "a piece")
		f.Decide(by, "", "use B")
		f.Pop(by, "done")
		f.Rest(by, "all green")
	},
	func(f *projecttest.Fixture, by project.Caller) {
		call := by.Session + " look"
		f.Spawn(by, call, "look")
		f.Bind(by, call, call+" agent")
		require.NoError(f.T, turns.End(f.Ctx, f.Project, by, turns.Turn{LastMessage: "wait", Running: []string{call + " agent"}}))
	},
	func(f *projecttest.Fixture, by project.Caller) { // ended, and resumed after a while
		f.Rest(by, "half")
		f.End(by)
		f.Prompt(by, "b", "and the rest")
		f.Rest(by, "all green")
	},
}

// TestAfterADayTheTreeShowsWhatIsOpenAndNothingElse plays 30 short and 3 long sessions:
// some end well, some are cut short, and some are killed.
func TestAfterADayTheTreeShowsWhatIsOpenAndNothingElse(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	gone, process := map[project.Process]bool{}, project.Process{}
	f.HostProcess = func() project.Process { return process }
	f.Gone = func(p project.Process) bool { return gone[p] }
	long := 0
	for i := range 33 {
		f.Clock += 20 * 60 * 1000
		by := projecttest.Host(fmt.Sprint("session-", i))
		process = project.Process{PID: 100 + i, Started: "then"}
		if i%11 == 3 {
			f.Prompt(by, "a", fmt.Sprint("LONG ", long))
			long++
			f.Plan(by, "", "still to do", "to do after that")
			f.Activate(by, f.Push(by, "half done").ID)
			f.Push(by, "deep within")
		} else {
			f.Prompt(by, "a", fmt.Sprint("short ", i))
			shortWays[i%len(shortWays)](f, by)
		}
		if killed := i%4 == 1; killed {
			gone[process] = true
		} else {
			f.End(by)
		}
		f.Sweep()
	}
	counts := map[core.Status]int{}
	for _, frame := range f.All() {
		counts[frame.Status]++
		if frame.Parent == "" {
			assert.Equal(t, strings.HasPrefix(frame.Goal, "LONG"), frame.Status == core.InProgress, "%+v", frame)
		}
	}
	assert.Equal(t, []int{3, 9, 6}, []int{long, counts[core.InProgress], counts[core.Planned]})
	offered := begun(f, projecttest.Host("next")).Text
	for i := range long {
		assert.Contains(t, offered, fmt.Sprintf("<goal>LONG %d</goal>", i))
	}
	assert.NotContains(t, offered, "short")
}
