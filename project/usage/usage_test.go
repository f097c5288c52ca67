package usage_test

import (
	"bytes"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/project/view"
	"flame/store"
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

func TestUsageIsThatOfTheFrameWorkedInAtTheTime(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	outer := f.Push(projecttest.Host("s"), "outer")
	log.Answer("m1")
	inner := f.Push(projecttest.Host("s"), "inner")
	log.Answer("m2")
	log.Answer("m3")
	f.Pop(projecttest.Host("s"), "done")
	log.Answer("m4")
	f.Count(projecttest.Host("s"), log)

	assert.InDelta(t, 2, f.Spent(outer.ID), 1e-9)
	assert.InDelta(t, 2, f.Spent(inner.ID), 1e-9)
	assert.Equal(t, int64(500_000), f.Get(inner.ID).Usage.TokensIn)
	assert.Empty(t, counting(f))
	stats, err := view.StatsOf(f.Ctx, f.Project)
	require.NoError(t, err)
	assert.InDelta(t, 4, stats.Usage.CostUSD, 1e-9)
}

func TestUsageBeforeTheFirstPushIsTheRoots(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	_, _, err := stack.AddDecision(f.Ctx, f.Project, projecttest.Host("s"), "", "keep it small") // makes the root
	require.NoError(t, err)
	log.Answer("m1")
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m2")
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 1, f.Spent(frame.Parent), 1e-9)
	assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
}

func TestCountingTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	f.Count(projecttest.Host("s"), log)
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
	log.Answer("m1") // another line of the same answer
	log.Answer("m2")
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 2, f.Spent(frame.ID), 1e-9)
}

func TestCountingIsNoChangeOfTheFrame(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	f.Count(projecttest.Host("s"), log)
	assert.Equal(t, frame.UpdatedAt, f.Get(frame.ID).UpdatedAt)
	assert.Equal(t, []string{core.FrameCreated}, f.Kinds(frame.ID))
}

func TestProcessesThatCountAtOnceCountOnce(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	for i := range 200 {
		log.Answer(fmt.Sprint("m", i))
	}
	f.CountLater(projecttest.Host("s"), log)
	now := f.Tick()
	var all sync.WaitGroup
	for range 4 {
		kept := store.Open(f.Data, store.Options{})
		t.Cleanup(func() { assert.NoError(t, kept.Close()) })
		other := &project.Project{
			Store: kept, Log: f.Log, NewID: f.NewID, Transcripts: hoststest.Known().Formats().Read,
			Now: func() core.Millis { return now },
		}
		all.Go(func() { assert.NoError(t, sweep.Once(f.Ctx, other)) })
	}
	all.Wait()
	assert.InDelta(t, 200, f.Spent(frame.ID), 1e-9)
	assert.Empty(t, counting(f))
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
	require.NoError(t, turns.End(f.Ctx, f.Project, projecttest.Agent("c"), turns.Turn{}))
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
	frame := f.StartChild("c", "a subagent").Root
	own := projecttest.NewLog(f, "agent-c.jsonl")
	log.Answer("m1")
	own.Prompt("look into it")
	own.Answer("m2")
	own.Answer("m3")
	f.Count(projecttest.Agent("c"), own)
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 1, f.Spent(parent.ID), 1e-9)
	assert.InDelta(t, 2, f.Spent(frame), 1e-9)

	all, err := children.Sessions(f.Ctx, f.Project, projecttest.Host("s"))
	require.NoError(t, err)
	require.Len(t, all.Sessions, 1)
	assert.Equal(t, 3, all.Sessions[0].MessageCount, "the heuristics go by it")
}

func TestAChildWithoutAFrameSpendsForTheOneItWorksFor(t *testing.T) {
	t.Parallel()
	f, _ := projecttest.NewCounter(t)
	parent := f.Push(projecttest.Host("s"), "work")
	require.False(t, f.StartChild("c", "no match").HasFrame())
	own := projecttest.NewLog(f, "agent-c.jsonl")
	own.Answer("m1")
	f.Count(projecttest.Agent("c"), own)
	assert.InDelta(t, 1, f.Spent(parent.ID), 1e-9)
}

func TestUsageFeedsAutonomy(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	for i := range 21 {
		log.Answer(fmt.Sprint("m", i))
	}
	f.Count(projecttest.Host("s"), log)
	f.ReadActivity(frame.ID, func(a autonomy.Activity) {
		assert.Equal(t, 21, a.Messages)
		assert.Equal(t, 250_000, a.Tokens, "of the last, as each carries the whole context")
	})
}

func TestCompactionAndResumeContinueTheSameLog(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	f.Count(projecttest.Host("s"), log)
	log.Write(`{"type":"system","subtype":"compact_boundary"}` + "\n")
	log.Write(fmt.Sprintf(`{"type":"user","timestamp":%q,"isCompactSummary":true,"message":{"content":"so far"}}`+"\n", projecttest.Stamp(f.Tick())))
	require.NoError(t, children.EndSession(f.Ctx, f.Project, projecttest.Host("s")))
	log.Answer("m2")
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 2, f.Spent(frame.ID), 1e-9)
}

func TestACopyInAForkIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	f.Count(projecttest.Host("s"), log)
	copied, err := os.ReadFile(log.Path)
	require.NoError(t, err)

	fork := projecttest.NewLog(f, "fork.jsonl")
	fork.Write(string(copied))
	f.Tick()
	other := f.Push(projecttest.Host("fork"), "another way")
	fork.Answer("m2")
	f.Count(projecttest.Host("fork"), fork)
	assert.InDelta(t, 1, f.Spent(other.ID), 1e-9)
	assert.Zero(t, f.Spent(other.Parent))
	assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
}

func TestALogThatMovedIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	f.Count(projecttest.Host("s"), log)
	moved := projecttest.NewLog(f, "moved.jsonl")
	require.NoError(t, os.Rename(log.Path, moved.Path))
	moved.Answer("m2")
	f.Count(projecttest.Host("s"), moved)
	assert.InDelta(t, 2, f.Spent(frame.ID), 1e-9)
}

func TestATornLineIsCountedOnceItIsWhole(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	log.Answer("m1")
	line := projecttest.AnswerAt(f.Tick(), "m2")
	log.Write(line[:40])
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9)
	log.Write(line[40:])
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 2, f.Spent(frame.ID), 1e-9)
}

func TestALogThatShrankIsCountedFromWhereItIsNew(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	old := projecttest.AnswerAt(f.Tick(), "m1")
	log.Write(old + projecttest.AnswerAt(f.Tick(), "m2"))
	f.Count(projecttest.Host("s"), log)
	require.NoError(t, os.Remove(log.Path))
	log.Write(old)
	f.Count(projecttest.Host("s"), log)
	log.Answer("m3")
	f.Count(projecttest.Host("s"), log)
	assert.InDelta(t, 3, f.Spent(frame.ID), 1e-9)
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
	asked := false
	f.Transcripts = func(by, path string, from core.LogPosition) iter.Seq2[core.LogEntry, error] {
		return func(yield func(core.LogEntry, error) bool) {
			hoststest.Known().Formats().Read(by, path, from)(yield)
			if !asked {
				asked = true
				log.Answer("m2")
				f.CountLater(projecttest.Host("s"), log)
			}
		}
	}
	f.Count(projecttest.Host("s"), log)
	assert.Equal(t, []string{"s"}, counting(f))
	f.Sweep()
	assert.InDelta(t, 2, f.Spent(frame.ID), 1e-9)
	assert.Empty(t, counting(f))
}
