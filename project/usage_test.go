package project_test

import (
	"bytes"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hosts/hoststest"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/turns"
	"flame/project/usage"
	"flame/project/view"
	"flame/store"
)

// tick lets time pass.
func (f *fixture) tick() core.Millis {
	f.clock += 10
	return f.clock
}

// agent is a subagent of session s.
func agent(id string) project.Caller {
	return project.Caller{Session: id, Parent: "s", Host: "claude-code", Trust: project.Stamped}
}

// count has the log of a session counted.
func (f *fixture) count(by project.Caller, l hostLog) {
	f.t.Helper()
	f.countLater(by, l)
	f.sweep()
}

func (f *fixture) countLater(by project.Caller, l hostLog) {
	f.t.Helper()
	require.NoError(f.t, usage.CountLater(f.ctx, f.Project, by, l.path))
}

func (f *fixture) sweep() {
	f.t.Helper()
	f.tick()
	require.NoError(f.t, sweep.Once(f.ctx, f.Project))
}

// spent returns what the work in a frame cost, in dollars: one for each answer.
func (f *fixture) spent(frame string) float64 {
	f.t.Helper()
	return f.get(frame).Usage.CostUSD
}

// counting returns the sessions whose logs wait to be counted.
func (f *fixture) counting() (sessions []string) {
	f.t.Helper()
	require.NoError(f.t, f.Store.View(f.ctx, func(tx project.Tx) error {
		due, err := tx.DueDeadlines(f.clock, "", "", 0)
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
	f, log := newCounter(t)
	outer := f.push(host("s"), "outer")
	log.answer("m1")
	inner := f.push(host("s"), "inner")
	log.answer("m2")
	log.answer("m3")
	f.pop(host("s"), "done")
	log.answer("m4")
	f.count(host("s"), log)

	assert.InDelta(t, 2, f.spent(outer.ID), 1e-9)
	assert.InDelta(t, 2, f.spent(inner.ID), 1e-9)
	assert.Equal(t, int64(500_000), f.get(inner.ID).Usage.TokensIn)
	assert.Empty(t, f.counting())
	stats, err := view.StatsOf(f.ctx, f.Project)
	require.NoError(t, err)
	assert.InDelta(t, 4, stats.Usage.CostUSD, 1e-9)
}

func TestUsageBeforeTheFirstPushIsTheRoots(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	_, _, err := stack.AddDecision(f.ctx, f.Project, host("s"), "", "keep it small") // makes the root
	require.NoError(t, err)
	log.answer("m1")
	frame := f.push(host("s"), "work")
	log.answer("m2")
	f.count(host("s"), log)
	assert.InDelta(t, 1, f.spent(frame.Parent), 1e-9)
	assert.InDelta(t, 1, f.spent(frame.ID), 1e-9)
}

func TestCountingTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	log.answer("m1")
	f.count(host("s"), log)
	f.count(host("s"), log)
	assert.InDelta(t, 1, f.spent(frame.ID), 1e-9)
	log.answer("m1") // another line of the same answer
	log.answer("m2")
	f.count(host("s"), log)
	assert.InDelta(t, 2, f.spent(frame.ID), 1e-9)
}

func TestCountingIsNoChangeOfTheFrame(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	log.answer("m1")
	f.count(host("s"), log)
	assert.Equal(t, frame.UpdatedAt, f.get(frame.ID).UpdatedAt)
	assert.Equal(t, []string{core.FrameCreated}, f.kinds(frame.ID))
}

func TestProcessesThatCountAtOnceCountOnce(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	for i := range 200 {
		log.answer(fmt.Sprint("m", i))
	}
	f.countLater(host("s"), log)
	now := f.tick()
	var all sync.WaitGroup
	for range 4 {
		kept := store.Open(f.data, store.Options{})
		t.Cleanup(func() { assert.NoError(t, kept.Close()) })
		other := &project.Project{
			Store: kept, Log: f.Log, NewID: f.NewID, Transcripts: hoststest.Known().Formats().Read,
			Now: func() core.Millis { return now },
		}
		all.Go(func() { assert.NoError(t, sweep.Once(f.ctx, other)) })
	}
	all.Wait()
	assert.InDelta(t, 200, f.spent(frame.ID), 1e-9)
	assert.Empty(t, f.counting())
}

func TestProcessesWithoutAReaderLeaveUsageToOthers(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	log.answer("m1")
	for i := range 150 { // more than one sweep does
		by := host(fmt.Sprint("s", i))
		f.push(by, "other work")
		f.countLater(by, log)
	}
	f.countLater(host("s"), log)
	idle := f.startChild("c", "a subagent").Root
	require.NoError(t, turns.End(f.ctx, f.Project, agent("c"), turns.Turn{}))
	f.Transcripts = nil
	f.clock += 10_000
	f.sweep()
	assert.Equal(t, core.Completed, f.get(idle).Status, "others are not kept waiting")
	assert.Zero(t, f.spent(frame.ID))
	assert.Len(t, f.counting(), 151)
}

func TestASubagentsUsageIsItsOwnFrames(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	parent := f.push(host("s"), "work")
	frame := f.startChild("c", "a subagent").Root
	own := newLog(f, "agent-c.jsonl")
	log.answer("m1")
	own.prompt("look into it")
	own.answer("m2")
	own.answer("m3")
	f.count(agent("c"), own)
	f.count(host("s"), log)
	assert.InDelta(t, 1, f.spent(parent.ID), 1e-9)
	assert.InDelta(t, 2, f.spent(frame), 1e-9)

	all, err := children.Sessions(f.ctx, f.Project, host("s"))
	require.NoError(t, err)
	require.Len(t, all.Sessions, 1)
	assert.Equal(t, 3, all.Sessions[0].MessageCount, "the heuristics go by it")
}

func TestAChildWithoutAFrameSpendsForTheOneItWorksFor(t *testing.T) {
	t.Parallel()
	f, _ := newCounter(t)
	parent := f.push(host("s"), "work")
	require.False(t, f.startChild("c", "no match").HasFrame())
	own := newLog(f, "agent-c.jsonl")
	own.answer("m1")
	f.count(agent("c"), own)
	assert.InDelta(t, 1, f.spent(parent.ID), 1e-9)
}

func TestUsageFeedsAutonomy(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	for i := range 21 {
		log.answer(fmt.Sprint("m", i))
	}
	f.count(host("s"), log)
	f.readActivity(frame.ID, func(a autonomy.Activity) {
		assert.Equal(t, 21, a.Messages)
		assert.Equal(t, 250_000, a.Tokens, "of the last, as each carries the whole context")
	})
}

func (f *fixture) readActivity(frame string, look func(autonomy.Activity)) {
	f.t.Helper()
	var a autonomy.Activity
	require.NoError(f.t, f.Store.View(f.ctx, func(tx project.Tx) error {
		_, err := tx.Record("activity", frame, &a)
		return err
	}))
	look(a)
}

func TestCompactionAndResumeGoOnInTheSameLog(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	log.answer("m1")
	f.count(host("s"), log)
	log.write(`{"type":"system","subtype":"compact_boundary"}` + "\n")
	log.write(fmt.Sprintf(`{"type":"user","timestamp":%q,"isCompactSummary":true,"message":{"content":"so far"}}`+"\n", stamp(f.tick())))
	require.NoError(t, children.EndSession(f.ctx, f.Project, host("s")))
	log.answer("m2")
	f.count(host("s"), log)
	assert.InDelta(t, 2, f.spent(frame.ID), 1e-9)
}

func TestWhatAForkCopiedIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	log.answer("m1")
	f.count(host("s"), log)
	copied, err := os.ReadFile(log.path)
	require.NoError(t, err)

	fork := newLog(f, "fork.jsonl")
	fork.write(string(copied))
	f.tick()
	other := f.push(host("fork"), "another way")
	fork.answer("m2")
	f.count(host("fork"), fork)
	assert.InDelta(t, 1, f.spent(other.ID), 1e-9)
	assert.Zero(t, f.spent(other.Parent))
	assert.InDelta(t, 1, f.spent(frame.ID), 1e-9)
}

func TestALogThatMovedIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	log.answer("m1")
	f.count(host("s"), log)
	moved := hostLog{f, filepath.Join(t.TempDir(), "moved.jsonl")}
	require.NoError(t, os.Rename(log.path, moved.path))
	moved.answer("m2")
	f.count(host("s"), moved)
	assert.InDelta(t, 2, f.spent(frame.ID), 1e-9)
}

func TestATornLineIsCountedOnceItIsWhole(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	log.answer("m1")
	line := answerAt(f.tick(), "m2")
	log.write(line[:40])
	f.count(host("s"), log)
	assert.InDelta(t, 1, f.spent(frame.ID), 1e-9)
	log.write(line[40:])
	f.count(host("s"), log)
	assert.InDelta(t, 2, f.spent(frame.ID), 1e-9)
}

func TestALogThatShrankIsCountedFromWhereItIsNew(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	old := answerAt(f.tick(), "m1")
	log.write(old + answerAt(f.tick(), "m2"))
	f.count(host("s"), log)
	require.NoError(t, os.Remove(log.path))
	log.write(old)
	f.count(host("s"), log)
	log.answer("m3")
	f.count(host("s"), log)
	assert.InDelta(t, 3, f.spent(frame.ID), 1e-9)
}

func TestALogThatIsGoneIsToldOnce(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	var told bytes.Buffer
	f.Log = slog.New(slog.NewTextHandler(&told, nil))
	frame := f.push(host("s"), "work")
	log.answer("m1")
	f.count(host("s"), log)
	require.NoError(t, os.Rename(log.path, log.path+".away"))
	f.count(host("s"), log)
	f.sweep()
	assert.Equal(t, 1, strings.Count(told.String(), "cannot be read"))
	assert.Empty(t, f.counting(), "it is not tried forever")
	require.NoError(t, os.Rename(log.path+".away", log.path))
	log.answer("m2")
	f.count(host("s"), log)
	assert.InDelta(t, 2, f.spent(frame.ID), 1e-9)
}

func TestEachChangeOfFrameHasTheLogCounted(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	f.push(host("s"), "work")
	f.count(host("s"), log)
	for i := range 150 { // more than a session's timeline keeps
		frame := f.push(host("s"), "step")
		log.answer(fmt.Sprint("m", i))
		f.pop(host("s"), "done")
		f.sweep()
		require.InDelta(t, 1, f.spent(frame.ID), 1e-9)
	}
}

func TestAGreatLogIsCountedPieceByPiece(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	noise := strings.Repeat(fmt.Sprintf(`{"type":"user","message":{"content":%q}}`+"\n", strings.Repeat("x", 10_000)), 300)
	for i := range 4 {
		log.write(noise)
		log.answer(fmt.Sprint("m", i))
	}
	f.count(host("s"), log)
	assert.Equal(t, []string{"s"}, f.counting(), "12 MB are more than one sweep reads")
	f.sweep()
	assert.InDelta(t, 4, f.spent(frame.ID), 1e-9)
	assert.Empty(t, f.counting())
}

func TestASessionThatFlameNeverSawIsNotCounted(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	log.answer("m1")
	f.count(host("s"), log)
	assert.NoDirExists(t, f.data)
}

func TestWhatIsAskedForDuringACountIsCountedNext(t *testing.T) {
	t.Parallel()
	f, log := newCounter(t)
	frame := f.push(host("s"), "work")
	log.answer("m1")
	asked := false
	f.Transcripts = func(by, path string, from core.LogPosition) iter.Seq2[core.LogEntry, error] {
		return func(yield func(core.LogEntry, error) bool) {
			hoststest.Known().Formats().Read(by, path, from)(yield)
			if !asked {
				asked = true
				log.answer("m2")
				f.countLater(host("s"), log)
			}
		}
	}
	f.count(host("s"), log)
	assert.Equal(t, []string{"s"}, f.counting())
	f.sweep()
	assert.InDelta(t, 2, f.spent(frame.ID), 1e-9)
	assert.Empty(t, f.counting())
}
