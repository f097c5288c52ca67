package sweep_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/tests/projecttest"
)

const day = 24 * 60 * 60 * 1000

// A machine is what a project sees of the processes of hosts.
type machine struct {
	now  project.Process // that of the host which calls
	gone map[project.Process]bool
}

func hosted(t *testing.T) (*projecttest.Fixture, *machine) {
	t.Helper()
	f, m := projecttest.New(t), &machine{gone: map[project.Process]bool{}}
	f.HostProcess = func() project.Process { return m.now }
	f.ProcessGone = func(p project.Process) bool { return m.gone[p] }
	return f, m
}

func TestASessionEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	f, m := hosted(t)
	one, other := project.Process{PID: 7, Started: "1"}, project.Process{PID: 7, Started: "2"}
	m.now = one
	f.Prompt(projecttest.Host("killed"), "a", "killed")
	f.Prompt(projecttest.Host("rested"), "a", "rested")
	f.Rest(projecttest.Host("rested"), "all green")
	f.Prompt(projecttest.Host("resumed"), "a", "resumed")
	m.now = other
	f.Prompt(projecttest.Host("resumed"), "b", "and the rest")
	f.Push(projecttest.Shell, "by hand")
	m.now = project.Process{}
	f.Prompt(projecttest.Host("unknown"), "a", "unknown")
	f.Sweep()
	assert.NotContains(t, f.Draw(), "completed rested: all green")
	m.gone[one] = true
	f.Sweep()
	want := []string{
		"blocked killed: (its session ended before the work was done)", "completed rested: all green",
		"in_progress resumed", "  in_progress by hand", "in_progress unknown",
	}
	assert.ElementsMatch(t, want, f.Draw())
	m.gone[other] = true
	f.Sweep()
	assert.Contains(t, f.Draw(), "in_progress resumed", "something is open below it")
	f.Prompt(projecttest.Host("killed"), "b", "go on")
	m.gone[one] = false
	f.Sweep()
	assert.Contains(t, f.Draw(), "in_progress killed: (its session ended before the work was done)", "it was resumed")
}

func TestASilentSessionEndsAfterADay(t *testing.T) {
	t.Parallel()
	f, m := hosted(t)
	f.Prompt(projecttest.Host("silent"), "a", "silent")
	m.now = project.Process{PID: 7, Started: "1"}
	f.Prompt(projecttest.Host("alive"), "a", "alive")
	f.Rest(projecttest.Host("alive"), "all green")
	f.Prompt(projecttest.Host("s"), "a", "busy")
	f.SpawnAll(projecttest.Host("s"), "look")
	f.Clock += day - 1000
	f.Sweep()
	assert.Contains(t, f.Draw(), "in_progress silent")
	f.Clock += 2000
	f.Sweep()
	want := []string{
		"blocked silent: (its session ended before the work was done)", "completed alive: all green",
		"in_progress busy", "  in_progress look",
	}
	assert.ElementsMatch(t, want, f.Draw(), "who has children in a process that is alive is at work")
}

func TestClocksThatJump(t *testing.T) {
	t.Parallel()
	f, _ := hosted(t)
	s := projecttest.Host("s")
	f.Prompt(s, "a", "work")
	before := f.Clock
	f.Push(s, "piece")
	f.Clock += 400 * day // far ahead
	f.Sweep()
	f.Prompt(s, "b", "and the rest")
	f.Clock = before - 400*day // and far behind
	f.Sweep()
	f.Pop(s, "done")
	f.Prompt(s, "c", "go on")
	f.Prompt(s, "b", "and the rest") // out of order
	f.Rest(s, "all green")
	f.Rest(s, "all green")
	f.End(s)
	f.Sweep()
	assert.Equal(t, []string{"completed work: all green", "  completed piece: done"}, f.Draw())
	f.Clock = before
	f.Sweep()
	f.Prompt(s, "d", "once more")
	f.Sweep()
	assert.Equal(t, core.InProgress, f.Get(f.Current(s)).Status)
}

func TestRootsThatEarlierVersionsLeftEndWithinADay(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Prompt(projecttest.Host("s"), "a", "work")
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		session, err := tx.Session("s")
		session.State = core.SessionEnded
		return errors.Join(err, tx.SaveSession(session))
	}))
	f.Sweep()
	assert.Equal(t, []string{"in_progress work"}, f.Draw())
	f.Clock += day
	f.Sweep()
	assert.Equal(t, []string{"blocked work: (its session ended before the work was done)"}, f.Draw())
}
