package turns_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/stack"
	"flame/project/turns"
	"flame/tests/projecttest"
	"flame/transcripts"
)

// takeTurns has a session take some turns, each to the same words, and returns what it
// is told meanwhile.
func takeTurns(f *projecttest.Fixture, by project.Caller, n int, last string) (told string) {
	f.T.Helper()
	for range n {
		b, err := turns.Begin(f.Ctx, f.Project, by, turns.Prompt{ID: fmt.Sprint("turn at ", f.Clock), Text: "yes, go"})
		require.NoError(f.T, err)
		told += b.Text
		require.NoError(f.T, turns.End(f.Ctx, f.Project, by, turns.EndReport{LastMessage: last}))
	}
	return told
}

func TestATurnOfAnUnknownSessionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{LastMessage: "hello"}))
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
			require.NoError(f.T, stack.NoteFiles(f.Ctx, f.Project, projecttest.Host("s"), []string{"a"}))
		}, 0},
		"the same file": {func(f *projecttest.Fixture) {
			require.NoError(f.T, stack.NoteFiles(f.Ctx, f.Project, projecttest.Host("s"), []string{"known"}))
		}, 3},
		"a decision": {func(f *projecttest.Fixture) { f.Decide(projecttest.Host("s"), "", "use B") }, 0},
		"a failure": {func(f *projecttest.Fixture) {
			require.NoError(f.T, stack.NoteFailure(f.Ctx, f.Project, projecttest.Host("s")))
		}, 3},
		"another's decision": {func(f *projecttest.Fixture) { f.Decide(projecttest.Shell, f.Current(projecttest.Host("s")), "use B") }, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.Working(t)
			require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, projecttest.Host("s"), []string{"known"}))
			takeTurns(f, projecttest.Host("s"), 2, "")
			f.Prompt(projecttest.Host("s"), "next", "go on with it")
			tt.work(f)
			require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{}))
			f.ReadActivity(f.Current(projecttest.Host("s")), func(a autonomy.FrameActivity) { assert.Equal(t, tt.want, a.NoProgressTurns) })
		})
	}
}

// finish has a session's agent finish the goal of its frame, and returns what it is told with the next prompt.
func finish(f *projecttest.Fixture, by project.Caller) string {
	f.T.Helper()
	f.Prompt(by, fmt.Sprint("work at ", f.Clock), "yes, go")
	require.NoError(f.T, stack.NoteFiles(f.Ctx, f.Project, by, []string{"piece.go"}))
	require.NoError(f.T, turns.End(f.Ctx, f.Project, by, turns.EndReport{LastMessage: finished, Running: []string{}, Seen: func() transcripts.TurnSummary {
		return transcripts.TurnSummary{Whole: true, Calls: []evidence.Call{passes}}
	}}))
	return f.Prompt(by, fmt.Sprint("thanks at ", f.Clock), "great, thanks")
}

// pushPiece has the session s push a frame whose end can be proven.
func pushPiece(f *projecttest.Fixture) core.Frame {
	f.T.Helper()
	frame, err := stack.Push(f.Ctx, f.Project, projecttest.Host("s"), "piece", "all tests pass")
	require.NoError(f.T, err)
	return frame
}

const finished = "The piece is done, all tests pass."

var passes = evidence.Call{Tool: "Bash", Input: "go test ./...", OK: true, Exit: new(0), Output: "ok  \tshop\t0.01s"}

func TestADuePopIsSuggestedOrDone(t *testing.T) {
	t.Parallel()
	pushed := func(f *projecttest.Fixture) { pushPiece(f) }
	tests := map[string]struct {
		level core.AutonomyLevel
		begin func(f *projecttest.Fixture)
		want  string // goal of the current frame
		told  string // once; empty: nothing is
	}{
		"suggested":                    {core.AutonomySuggest, pushed, "piece", `popping the current frame as "completed"`},
		"done":                         {core.AutonomyAuto, pushed, "work", `by="autonomy"`},
		"neither where all is by hand": {core.AutonomyManual, pushed, "piece", ""},
		"not below its threshold": {core.AutonomySuggest, func(f *projecttest.Fixture) {
			f.Autonomy.PopThreshold, f.Autonomy.EnabledHeuristics = 80, []string{"stagnation"}
			pushed(f)
		}, "piece", ""},
		"never of a root": {core.AutonomyAuto, func(*projecttest.Fixture) {}, "work", ""},
		"never over work below": {core.AutonomyAuto, func(f *projecttest.Fixture) {
			pushed(f)
			f.SpawnAll(projecttest.Host("s"), "look")
			f.Push(projecttest.Agent("look"), "deeper")
			f.Plan(projecttest.Host("s"), "", "later")
		}, "piece", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			f.Autonomy.Level = tt.level
			f.Prompt(projecttest.Host("s"), "first", "work")
			tt.begin(f)
			told := finish(f, projecttest.Host("s"))
			assert.Equal(t, tt.want, f.Get(f.Current(projecttest.Host("s"))).Goal)
			if tt.told == "" {
				assert.NotContains(t, told, "SUGGESTION")
				assert.NotContains(t, told, "autonomy")
			} else {
				assert.Equal(t, 1, strings.Count(told, tt.told), "told once: %s", told)
			}
		})
	}
}

func TestAPopThatWasDoneIsUndoneByActivating(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Autonomy.Level = core.AutonomyAuto
	frame := pushPiece(f)
	told := finish(f, projecttest.Host("s"))
	assert.Equal(t, []any{finished, core.Completed}, []any{f.Get(frame.ID).Summary, f.Get(frame.ID).Status})
	assert.Contains(t, told, `by="autonomy"`)
	assert.NotContains(t, told, finished, "those are its own words")
	assert.Equal(t, core.InProgress, f.Activate(projecttest.Host("s"), frame.ID).Status)
	assert.Equal(t, frame.ID, f.Current(projecttest.Host("s")))
}

// Evidence for a frame that was popped in the turn said of the frame after it that it is completed.
func TestTheWorkOfAPoppedFrameSaysNothingOfTheNext(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"the next frame": "refund endpoint", "the frame above": ""} {
		for _, level := range []core.AutonomyLevel{core.AutonomySuggest, core.AutonomyAuto} {
			t.Run(name+" at level "+string(level), func(t *testing.T) {
				t.Parallel()
				f := projecttest.Working(t)
				f.Autonomy.Level = level
				s := projecttest.Host("s")
				f.Push(s, "shop")
				require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, []string{"shop.go"}))
				f.Push(s, "card tokenizer")
				f.Prompt(s, "go", "do the tokenizer for card numbers")
				require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, []string{"tok.go"}))
				f.PopAs(s, stack.PopArgs{Status: core.Completed, Summary: "Tokenizer done", Next: next})
				advice, err := autonomy.ShouldPop(f.Ctx, f.Project, s, autonomy.PopArgs{})
				require.NoError(t, err)
				assert.False(t, advice.Recommended, "nothing has happened in it")
				pop := evidence.Call{Tool: "mcp__plugin_flame_flame__flame_pop", OK: true}
				require.NoError(t, turns.End(f.Ctx, f.Project, s, turns.EndReport{
					LastMessage: "The card tokenizer of the shop is finished; all tests pass.", Running: []string{},
					Seen: func() transcripts.TurnSummary {
						return transcripts.TurnSummary{Whole: true, Calls: []evidence.Call{passes, pop}}
					},
				}))
				current := f.Get(f.Current(s))
				assert.Equal(t, []any{core.InProgress, cmp.Or(next, "shop")}, []any{current.Status, current.Goal})
				assert.NotContains(t, f.Prompt(s, "on", "ok, go on"), "SUGGESTION")
			})
		}
	}
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
				require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Host("s"), turns.EndReport{Running: tt.running}))
			}
			drawn := f.Draw()
			for i, line := range tt.want {
				assert.True(t, strings.HasPrefix(drawn[i+1], "  "+line), drawn[i+1])
			}
			assert.Equal(t, []string{"in_progress other work", "  in_progress foreign"}, drawn[4:])
		})
	}
}
