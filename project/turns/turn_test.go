package turns_test

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
	"flame/tests/projecttest"
)

// takeTurns has a session take some turns, each to the same words, and returns what it
// is told meanwhile.
func takeTurns(f *projecttest.Fixture, by project.Caller, n int, last string) (told string) {
	f.T.Helper()
	for range n {
		b, err := turns.Begin(f.Ctx, f.Project, by, turns.Prompt{ID: fmt.Sprint("turn at ", f.Clock), Text: "yes, go"})
		require.NoError(f.T, err)
		told += b.Text
		require.NoError(f.T, turns.End(f.Ctx, f.Project, by, turns.Turn{LastMessage: last}))
	}
	return told
}

func TestATurnOfAnUnknownSessionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.Turn{LastMessage: "hello"}))
	assert.NoDirExists(t, f.Data)
}

func TestATurnThatChangedNothingIsNoProgress(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		work func(f *projecttest.Fixture)
		want int // turns without progress after three
	}{
		"talk": {func(*projecttest.Fixture) {}, 3},
		"a file": {func(f *projecttest.Fixture) {
			require.NoError(f.T, autonomy.NoteFiles(f.Ctx, f.Project, projecttest.Host("s"), []string{"a"}))
		}, 0},
		"the same file": {func(f *projecttest.Fixture) {
			require.NoError(f.T, autonomy.NoteFiles(f.Ctx, f.Project, projecttest.Host("s"), []string{"known"}))
		}, 3},
		"a decision": {func(f *projecttest.Fixture) { f.Decide(projecttest.Host("s"), "", "use B") }, 0},
		"a failure": {func(f *projecttest.Fixture) {
			require.NoError(f.T, autonomy.NoteFailure(f.Ctx, f.Project, projecttest.Host("s")))
		}, 3},
		"another's decision": {func(f *projecttest.Fixture) { f.Decide(projecttest.Shell, f.Current(projecttest.Host("s")), "use B") }, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			require.NoError(t, autonomy.NoteFiles(f.Ctx, f.Project, projecttest.Host("s"), []string{"known"}))
			takeTurns(f, projecttest.Host("s"), 2, "")
			f.Prompt(projecttest.Host("s"), "next", "go on with it")
			tt.work(f)
			require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.Turn{}))
			f.ReadActivity(f.Current(projecttest.Host("s")), func(a autonomy.Activity) { assert.Equal(t, tt.want, a.NoProgressTurns) })
		})
	}
}

func TestADuePopIsSuggestedOrDone(t *testing.T) {
	t.Parallel()
	stuck := func(f *projecttest.Fixture) { f.Push(projecttest.Host("s"), "piece") }
	tests := map[string]struct {
		level core.AutonomyLevel
		begin func(f *projecttest.Fixture)
		want  string // goal of the current frame
		told  string // once; empty: nothing is
	}{
		"suggested":                    {core.AutonomySuggest, stuck, "piece", `popping the current frame as "blocked"`},
		"done":                         {core.AutonomyAuto, stuck, "work", `by="autonomy"`},
		"neither where all is by hand": {core.AutonomyManual, stuck, "piece", ""},
		"never of a root":              {core.AutonomyAuto, func(*projecttest.Fixture) {}, "work", ""},
		"never over work below": {core.AutonomyAuto, func(f *projecttest.Fixture) {
			stuck(f)
			f.SpawnAll(projecttest.Host("s"), "look")
		}, "piece", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Autonomy.Level, f.Autonomy.PopThreshold = tt.level, 70
			f.Prompt(projecttest.Host("s"), "first", "work")
			tt.begin(f)
			told := takeTurns(f, projecttest.Host("s"), 8, "I am stuck")
			assert.Equal(t, tt.want, f.Get(f.Current(projecttest.Host("s"))).Goal)
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
	f := projecttest.Working(t)
	f.Autonomy.Level, f.Autonomy.PopThreshold = core.AutonomyAuto, 70
	frame := f.Push(projecttest.Host("s"), "piece")
	told := takeTurns(f, projecttest.Host("s"), 8, "I am stuck")
	assert.Equal(t, "I am stuck", f.Get(frame.ID).Summary)
	assert.Equal(t, core.Blocked, f.Get(frame.ID).Status)
	assert.Contains(t, told, `by="autonomy"`)
	assert.NotContains(t, told, "I am stuck", "those are its own words")
	assert.Equal(t, core.InProgress, f.Activate(projecttest.Host("s"), frame.ID).Status)
	assert.Equal(t, frame.ID, f.Current(projecttest.Host("s")))
}

func TestATurnsEndShowsWhichChildrenAreLost(t *testing.T) {
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
			f := projecttest.Working(t)
			f.SpawnAll(projecttest.Host("s"), "a")
			f.SpawnAll(projecttest.Agent("a"), "b")
			f.SpawnAll(projecttest.Host("s"), "c")
			f.Prompt(projecttest.Host("other"), "first", "other work")
			f.SpawnAll(projecttest.Host("other"), "foreign")
			for range 2 {
				require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.Turn{Running: tt.running}))
			}
			drawn := f.Draw()
			for i, line := range tt.want {
				assert.True(t, strings.HasPrefix(drawn[i+1], "  "+line), drawn[i+1])
			}
			assert.Equal(t, []string{"in_progress other work", "  in_progress foreign"}, drawn[4:])
		})
	}
}
