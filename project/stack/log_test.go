package stack_test

import (
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/transfer"
	"flame/tests/projecttest"
)

// log finds the log of a frame.
func log(f *projecttest.Fixture, frame string) stack.Log {
	f.T.Helper()
	log, err := stack.LogOf(f.Ctx, f.Project, projecttest.Shell, frame, false)
	require.NoError(f.T, err)
	return log
}

// part returns the ids of what of the transcript belongs to the log of a frame.
func part(f *projecttest.Fixture, frame string, l projecttest.HostLog) (ids []string) {
	f.T.Helper()
	log := log(f, frame)
	assert.Equal(f.T, l.Path, log.Path)
	for m, err := range log.Part(messages(l)) {
		require.NoError(f.T, err)
		ids = append(ids, m.ID)
	}
	return ids
}

// messages reads the whole transcript.
func messages(l projecttest.HostLog) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		for entry, err := range l.F.Transcripts("claude-code", l.Path, core.LogPosition{}) {
			if !yield(entry.Message, err) {
				return
			}
		}
	}
}

func TestTheLogOfAFrameGoesFromItsStartToItsEnd(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	_, err := children.StartSession(f.Ctx, f.Project, projecttest.Host("s"), "")
	require.NoError(t, err)
	log.Answer("before")
	outer := f.Push(projecttest.Host("s"), "outer")
	log.Answer("m1")
	inner := f.Push(projecttest.Host("s"), "inner")
	log.Answer("m2")
	log.Write("what no reader knows\n")
	f.Pop(projecttest.Host("s"), "done")
	log.Answer("m3")
	f.Pop(projecttest.Host("s"), "done")
	log.Answer("after")
	f.PopAs(projecttest.Host("s"), stack.PopArgs{Frame: outer.Parent, Status: core.Completed})
	f.Count(projecttest.Host("s"), log)

	assert.Equal(t, []string{"m2", ""}, part(f, inner.ID, log))
	assert.Equal(t, []string{"m1", "m2", "", "m3"}, part(f, outer.ID, log))
	assert.Equal(t, []string{"before", "m1", "m2", "", "m3", "after"}, part(f, outer.Parent, log), "the root begins with its session")
}

func TestASubagentsLogIsItsOwn(t *testing.T) {
	t.Parallel()
	f, _ := projecttest.NewCounter(t)
	f.Push(projecttest.Host("s"), "work")
	frame := f.StartChild("c", "a subagent").Root
	own := projecttest.NewLog(f, "agent-c.jsonl")
	own.Answer("m1")
	f.PopAs(projecttest.Agent("c"), stack.PopArgs{Frame: frame, Status: core.Completed})
	f.Count(projecttest.Agent("c"), own)
	assert.Equal(t, []string{"m1"}, part(f, frame, own))
}

func TestOnlyTheSessionsOwnMessagesAreTheLog(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	log := stack.Log{Frame: core.Frame{Session: "s"}, From: 10, Until: 20}
	messages := []core.Message{
		{ID: "early", Session: "s", Time: 9}, {ID: "no time, early"}, {ID: "first", Session: "s", Time: 10},
		{ID: "child's", Session: "other", Time: 11}, {ID: "subagent's", Session: "s", Agent: "a", Time: 30},
		{ID: "no time", Session: "s"}, {ID: "last", Session: "s", Time: 20}, {ID: "late", Session: "s", Time: 21},
	}
	var got []string
	var failed error
	for m, err := range log.Part(func(yield func(core.Message, error) bool) {
		for _, m := range messages {
			if !yield(m, nil) {
				return
			}
		}
		yield(core.Message{}, broken)
	}) {
		if failed = err; err == nil {
			got = append(got, m.ID)
		}
	}
	assert.Equal(t, []string{"first", "no time", "last"}, got)
	assert.ErrorIs(t, failed, broken)
}

func TestFramesWithoutALogSaySo(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	open := f.Push(projecttest.Host("s"), "open")
	planned := f.Plan(projecttest.Host("s"), "", "later")[0]
	byHand := f.Push(projecttest.Shell, "at the shell")
	f.Pop(projecttest.Shell, "done")
	for name, tt := range map[string]struct{ frame, says, hint string }{
		"in progress": {open.ID, "is in progress", "flame_pop"},
		"planned":     {planned.ID, "is planned", "flame_activate"},
		"by hand":     {byHand.ID, "no host's session worked in", "flame events --frame " + byHand.ID},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stack.LogOf(f.Ctx, f.Project, projecttest.Shell, tt.frame, false)
			require.ErrorIs(t, err, core.ErrInvalid)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.Contains(t, problem.Message, tt.says)
			assert.Contains(t, problem.Hint, tt.hint)
		})
	}
	_, err := stack.LogOf(f.Ctx, f.Project, projecttest.Shell, "nothing", false)
	assert.ErrorIs(t, err, core.ErrNotFound)
}

func TestASavedLogIsKeptInItsFrame(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	f.Pop(projecttest.Host("s"), "done")
	file, err := transfer.LogFile(f.Data, frame.ID, "md")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(f.Data, "logs", frame.ID+".md"), file)

	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	for _, text := range []string{"first", "again"} {
		saved, err := stack.SaveLog(f.Ctx, f.Project, projecttest.Shell, frame.ID, file, write(text))
		require.NoError(t, err)
		assert.Equal(t, file, saved.LogPath)
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, text, string(raw))
	}
	assert.Equal(t, file, f.Get(frame.ID).LogPath)
	assert.Equal(t, []string{core.FrameCreated, core.FrameCompleted, core.FrameUpdated}, f.Kinds(frame.ID), "one event: the path is the same")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestALogThatCannotBeWrittenLeavesAllAsItWas(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	frame := f.Push(projecttest.Host("s"), "work")
	f.Pop(projecttest.Host("s"), "done")
	dir := t.TempDir()
	file := filepath.Join(dir, "log.md")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	broken := errors.New("broken")
	_, err := stack.SaveLog(f.Ctx, f.Project, projecttest.Shell, frame.ID, file, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	})
	require.ErrorIs(t, err, broken)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "old", string(raw))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1)
	assert.Empty(t, f.Get(frame.ID).LogPath)

	_, err = stack.SaveLog(f.Ctx, f.Project, projecttest.Shell, frame.ID, filepath.Join(dir, "none", "log.md"), func(io.Writer) error { return nil })
	assert.ErrorIs(t, err, core.ErrNotFound)
}

func TestHostileIDsStayInTheFolderOfLogs(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for _, id := range []string{"../../up", "a/b", ".", "C:\\x", "\x00"} {
		file, err := transfer.LogFile(data, id, "jsonl")
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(data, "logs"), filepath.Dir(file), id)
	}
}
