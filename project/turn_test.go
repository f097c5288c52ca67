package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/turns"
)

// turns has a session take some turns, each to the same words, and returns what it
// is told meanwhile.
func (f *fixture) turns(by project.Caller, n int, last string) (told string) {
	f.t.Helper()
	for range n {
		b, err := turns.Begin(f.ctx, f.Project, by, turns.Prompt{ID: fmt.Sprint("turn at ", f.clock), Text: "yes, go"})
		require.NoError(f.t, err)
		told += b.Text
		require.NoError(f.t, turns.End(f.ctx, f.Project, by, turns.Turn{LastMessage: last}))
	}
	return told
}

func TestATurnOfASessionThatNobodyKnowsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{LastMessage: "hello"}))
	assert.NoDirExists(t, f.data)
}

func TestATurnThatChangedNothingIsNoProgress(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		work func(f *fixture)
		want int // turns without progress after three
	}{
		"talk":   {func(*fixture) {}, 3},
		"a file": {func(f *fixture) { require.NoError(f.t, autonomy.NoteFiles(f.ctx, f.Project, host("s"), []string{"a"})) }, 0},
		"the same file": {func(f *fixture) {
			require.NoError(f.t, autonomy.NoteFiles(f.ctx, f.Project, host("s"), []string{"known"}))
		}, 3},
		"a decision":         {func(f *fixture) { f.decide(host("s"), "", "use B") }, 0},
		"a failure":          {func(f *fixture) { require.NoError(f.t, autonomy.NoteFailure(f.ctx, f.Project, host("s"))) }, 3},
		"another's decision": {func(f *fixture) { f.decide(shell, f.current(host("s")), "use B") }, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := working(t)
			require.NoError(t, autonomy.NoteFiles(f.ctx, f.Project, host("s"), []string{"known"}))
			f.turns(host("s"), 2, "")
			f.prompt(host("s"), "next", "go on with it")
			tt.work(f)
			require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{}))
			f.readActivity(f.current(host("s")), func(a autonomy.Activity) { assert.Equal(t, tt.want, a.NoProgressTurns) })
		})
	}
}

func TestADuePopIsSuggestedOrDone(t *testing.T) {
	t.Parallel()
	stuck := func(f *fixture) { f.push(host("s"), "piece") }
	tests := map[string]struct {
		level core.AutonomyLevel
		begin func(f *fixture)
		want  string // goal of the current frame
		told  string // once; empty: nothing is
	}{
		"suggested":                    {core.AutonomySuggest, stuck, "piece", `popping the current frame as "blocked"`},
		"done":                         {core.AutonomyAuto, stuck, "work", `by="autonomy"`},
		"neither where all is by hand": {core.AutonomyManual, stuck, "piece", ""},
		"never of a root":              {core.AutonomyAuto, func(*fixture) {}, "work", ""},
		"never over work below": {core.AutonomyAuto, func(f *fixture) {
			stuck(f)
			f.subagents(host("s"), "look")
		}, "piece", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.Autonomy.Level, f.Autonomy.PopThreshold = tt.level, 70
			f.prompt(host("s"), "first", "work")
			tt.begin(f)
			told := f.turns(host("s"), 8, "I am stuck")
			assert.Equal(t, tt.want, f.get(f.current(host("s"))).Goal)
			if tt.told == "" {
				assert.Empty(t, told)
			} else {
				assert.Equal(t, 1, strings.Count(told, tt.told), "told once: %s", told)
			}
		})
	}
}

func TestAPopThatWasDoneIsUndoneByActivating(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.Autonomy.Level, f.Autonomy.PopThreshold = core.AutonomyAuto, 70
	frame := f.push(host("s"), "piece")
	told := f.turns(host("s"), 8, "I am stuck")
	assert.Equal(t, "I am stuck", f.get(frame.ID).Summary)
	assert.Equal(t, core.Blocked, f.get(frame.ID).Status)
	assert.Contains(t, told, `by="autonomy"`)
	assert.NotContains(t, told, "I am stuck", "those are its own words")
	assert.Equal(t, core.InProgress, f.activate(host("s"), frame.ID).Status)
	assert.Equal(t, frame.ID, f.current(host("s")))
}

func TestATurnsEndTellsWhichChildrenAreLost(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		running []string
		want    []string
	}{
		"where the host does not tell, none": {nil, []string{"in_progress a", "  in_progress b", "in_progress c"}},
		"those that it does not name":        {[]string{"a"}, []string{"in_progress a", "  in_progress b", "blocked c"}},
		"not those that one named lies in":   {[]string{"b", "c"}, []string{"in_progress a", "  in_progress b", "in_progress c"}},
		"all, where it names none":           {[]string{}, []string{"blocked a", "  blocked b", "blocked c"}},
		"all, where it names others":         {[]string{"bash_1", "foreign"}, []string{"blocked a", "  blocked b", "blocked c"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := working(t)
			f.subagents(host("s"), "a")
			f.subagents(agent("a"), "b")
			f.subagents(host("s"), "c")
			f.prompt(host("other"), "first", "other work")
			f.subagents(host("other"), "foreign")
			for range 2 {
				require.NoError(t, turns.End(f.ctx, f.Project, host("s"), turns.Turn{Running: tt.running}))
			}
			drawn := f.draw()
			for i, line := range tt.want {
				assert.True(t, strings.HasPrefix(drawn[i+1], "  "+line), drawn[i+1])
			}
			assert.Equal(t, []string{"in_progress other work", "  in_progress foreign"}, drawn[4:])
		})
	}
}
