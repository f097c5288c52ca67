package usage_test

import (
	"bytes"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/view"
	"flame/tests/hoststest"
	"flame/tests/projecttest"
)

// counting returns the sessions whose logs wait to be counted.
func counting(f *projecttest.Fixture) (sessions []string) {
	f.T.Helper()
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) error {
		due, err := tx.DueDeadlines(f.Clock, "", "", 0)
		for _, d := range due {
			if d.Kind == "usage" {
				sessions = append(sessions, d.Subject)
			}
		}
		return err
	}))
	return sessions
}

// afterReading has something happen once while a log is counted, after it was read.
func afterReading(f *projecttest.Fixture, happens func()) {
	done := false
	f.Transcripts = func(by, path string, from core.LogPosition) iter.Seq2[core.LogEntry, error] {
		return func(yield func(core.LogEntry, error) bool) {
			if hoststest.Known().Formats().Read(by, path, from)(yield); !done {
				done = true
				happens()
			}
		}
	}
}

func TestUsageIsThatOfTheFrameWorkedInAtTheTime(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	f.Decide(s, "", "keep it small") // makes the root
	log.Answer("m0")
	outer := f.Push(s, "outer")
	log.Answer("m1")
	inner := f.Push(s, "inner")
	log.Answer("m2")
	log.Answer("m3")
	before := f.Get(inner.ID).UpdatedAt
	f.Count(s, log)
	assert.Equal(t, []any{before, []string{core.FrameCreated}}, []any{f.Get(inner.ID).UpdatedAt, f.Kinds(inner.ID)}, "counting is no change of the frame")
	f.Pop(s, "done")
	log.Answer("m4")
	for range 2 { // what is counted is not counted again
		f.Count(s, log)
		assert.InDelta(t, 1, f.Spent(outer.Parent), 1e-9)
		assert.InDelta(t, 2, f.Spent(outer.ID), 1e-9)
		assert.InDelta(t, 2, f.Spent(inner.ID), 1e-9)
	}
	assert.Equal(t, int64(500_000), f.Get(inner.ID).Usage.TokensIn)
	assert.Empty(t, counting(f))
	f.ReadActivity(inner.ID, func(a autonomy.FrameActivity) {
		assert.Equal(t, autonomy.FrameActivity{Messages: 2, Tokens: 250_000}, a, "tokens of the last, as each carries the whole context")
	})
	log.Answer("m4") // another line of the same answer
	log.Answer("m5")
	f.Count(s, log)
	assert.InDelta(t, 3, f.Spent(outer.ID), 1e-9)
	stats, err := view.StatsOf(f.Ctx, f.Project)
	require.NoError(t, err)
	assert.InDelta(t, 6, stats.Usage.CostUSD, 1e-9)
}

func TestWhateverBecomesOfALogEachAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	for name, happens := range map[string]func(f *projecttest.Fixture, log projecttest.HostLog, first, second string) projecttest.HostLog{
		"it is compacted, and its session resumed": func(f *projecttest.Fixture, log projecttest.HostLog, _, second string) projecttest.HostLog {
			log.Write(`{"type":"system","subtype":"compact_boundary"}` + "\n")
			log.Write(fmt.Sprintf(`{"type":"user","timestamp":%q,"isCompactSummary":true,"message":{"content":"so far"}}`+"\n", projecttest.Stamp(f.Tick())))
			f.End(s)
			log.Write(second)
			return log
		},
		"it moves": func(f *projecttest.Fixture, log projecttest.HostLog, _, second string) projecttest.HostLog {
			moved := projecttest.NewLog(f, "moved.jsonl")
			require.NoError(f.T, os.Rename(log.Path, moved.Path))
			moved.Write(second)
			return moved
		},
		"a line is torn": func(f *projecttest.Fixture, log projecttest.HostLog, _, second string) projecttest.HostLog {
			log.Write(second[:40])
			f.Count(s, log)
			log.Write(second[40:])
			return log
		},
		"it shrinks": func(f *projecttest.Fixture, log projecttest.HostLog, first, second string) projecttest.HostLog {
			log.Write(`{"type":"system"}` + "\n")
			f.Count(s, log)
			require.NoError(f.T, os.Remove(log.Path))
			log.Write(first)
			f.Count(s, log)
			log.Write(second)
			return log
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, log := projecttest.NewCounter(t)
			frame := f.Push(s, "work")
			first := projecttest.AnswerAt(f.Tick(), "m1")
			log.Write(first)
			f.Count(s, log)
			log = happens(f, log, first, projecttest.AnswerAt(f.Tick(), "m2"))
			f.Count(s, log)
			assert.InDelta(t, 2, f.Spent(frame.ID), 1e-9)
		})
	}
}

func TestProcessesWithoutAReaderLeaveUsageToOthers(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	for i := range 150 { // more than one sweep does
		by := projecttest.Host(fmt.Sprint("s", i))
		f.Push(by, "other work")
		f.CountLater(by, log)
	}
	f.CountLater(projecttest.Host("s"), log)
	idle := f.StartChild("c", "a subagent").Root
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Agent("c"), turns.EndReport{}))
	f.Transcripts = nil
	f.Clock += 10_000
	f.Sweep()
	assert.Equal(t, core.Completed, f.Get(idle).Status, "others are not kept waiting")
	assert.Zero(t, f.Spent(frame.ID))
	assert.Len(t, counting(f), 151)
}

func TestASubagentsUsageIsItsOwnFrames(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	parent := f.Push(projecttest.Host("s"), "work")
	start := func(id, title string) core.Session {
		session, err := children.StartSession(f.Ctx, f.Project, projecttest.Agent(id), title)
		require.NoError(t, err)
		return session
	}
	frame := start("c", "a subagent").Root
	own := projecttest.NewLog(f, "agent-c.jsonl")
	log.Answer("m1")
	own.Prompt("look into it")
	own.Answer("m2")
	own.Answer("m3")
	f.Count(projecttest.Agent("c"), own)
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 1, f.Spent(parent.ID), 1e-9)
	assert.InDelta(t, 2, f.Spent(frame), 1e-9)
	require.False(t, start("d", "no match").HasFrame())
	unmatched := projecttest.NewLog(f, "agent-d.jsonl")
	unmatched.Answer("m4")
	f.Count(projecttest.Agent("d"), unmatched)
	assert.InDelta(t, 2, f.Spent(parent.ID), 1e-9, "one without a frame spends for the one it works for")

	all, err := children.Sessions(f.Ctx, f.Project, projecttest.Host("s"))
	require.NoError(t, err)
	require.Len(t, all.Sessions, 2)
	assert.ElementsMatch(t, []int{3, 1}, []int{all.Sessions[0].MessageCount, all.Sessions[1].MessageCount}, "the heuristics go by it")
}

func TestAMissingLogIsReportedOnce(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	var told bytes.Buffer
	f.Log = slog.New(slog.NewTextHandler(&told, nil))
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	f.Count(projecttest.Host("s"), log)
	require.NoError(t, os.Rename(log.Path, log.Path+".away"))
	f.Count(projecttest.Host("s"), log)
	f.Sweep()
	assert.Equal(t, 1, strings.Count(told.String(), "cannot read a transcript"))
	assert.Empty(t, counting(f), "it is not tried forever")
	require.NoError(t, os.Rename(log.Path+".away", log.Path))
	log.Answer("m2")
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 2, f.Spent(frame.ID), 1e-9)
}

func TestEachChangeOfFrameHasTheLogCounted(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	f.Push(projecttest.Host("s"), "work")
	f.Count(projecttest.Host("s"), log)
	for i := range 150 { // more than a session's timeline keeps
		frame := f.Push(projecttest.Host("s"), "step")
		log.Answer(fmt.Sprint("m", i))
		f.Pop(projecttest.Host("s"), "done")
		f.Sweep()
		require.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
	}
}

func TestAGreatLogIsCountedPieceByPiece(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	noise := strings.Repeat(fmt.Sprintf(`{"type":"user","message":{"content":%q}}`+"\n", strings.Repeat("x", 10_000)), 300)
	for i := range 4 {
		log.Write(noise)
		log.Answer(fmt.Sprint("m", i))
	}
	f.Count(projecttest.Host("s"), log)
	assert.Equal(t, []string{"s"}, counting(f), "12 MB are more than one sweep reads")
	f.Sweep()
	assert.InDelta(t, 4, f.Spent(frame.ID), 1e-9)
	assert.Empty(t, counting(f))
}

func TestASessionThatFlameNeverSawIsNotCounted(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	log.Answer("m1")
	f.Count(projecttest.Host("s"), log)
	assert.NoDirExists(t, f.Data)
}

func TestARequestDuringACountIsCountedNext(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	afterReading(f, func() {
		log.Answer("m2")
		f.CountLater(projecttest.Host("s"), log)
	})
	f.Count(projecttest.Host("s"), log)
	assert.Equal(t, []string{"s"}, counting(f))
	f.Sweep()
	assert.InDelta(t, 2, f.Spent(frame.ID), 1e-9)
	assert.Empty(t, counting(f))
}

// TestWhatASessionSpentStaysItsOwn has others take up the frame in which a session worked: a
// person at a shell, and then another session.
func TestWhatASessionSpentStaysItsOwn(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	first, next, beside := projecttest.Host("first"), projecttest.Host("next"), projecttest.NewLog(f, "next.jsonl")
	frame := f.Push(first, "work")
	log.Answer("m1")
	f.Count(first, log)
	began := f.Get(frame.ID).StartedAt
	f.PopAs(first, stack.PopArgs{Status: core.Completed, Summary: "half of it"})
	f.End(first)

	f.Activate(projecttest.Shell, frame.ID)
	popped := f.PopAs(projecttest.Shell, stack.PopArgs{Frame: frame.ID, Status: core.Completed, Summary: "half of it, and the tests"})
	assert.Equal(t, "first", popped.Frame.Session, "a shell does no work")
	assert.Equal(t, began, popped.Frame.StartedAt, "the time is that of the work")

	f.Activate(next, frame.ID)
	beside.Answer("m2")
	beside.Answer("m3")
	f.Count(next, beside)
	assert.InDelta(t, 3, f.Spent(frame.ID), 1e-9)
	listed, _, err := view.SessionsOf(f.Ctx, f.Project, view.SessionArgs{Ended: true})
	require.NoError(t, err)
	spent := lo.SliceToMap(listed, func(s view.ListedSession) (string, float64) { return s.ID, s.Usage.CostUSD })
	assert.InDelta(t, 1, spent["first"], 1e-9)
	assert.InDelta(t, 2, spent["next"], 1e-9)
}
