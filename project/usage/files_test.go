package usage_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/sweep"
	"flame/project/usage"
	"flame/tests/projecttest"
)

// edited is a line of a session's log: a call changed a file.
func edited(at core.Millis, call, path string, removed, added string) string {
	lines := func(mark, text string) (all []string) {
		for line := range strings.Lines(text) {
			all = append(all, mark+strings.TrimSuffix(line, "\n"))
		}
		return all
	}
	hunk := map[string]any{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": append(lines("-", removed), lines("+", added)...)}
	line, err := json.Marshal(map[string]any{
		"type": "user", "sessionId": "s", "timestamp": projecttest.Stamp(at),
		"message":       map[string]any{"content": []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": "ok"}}},
		"toolUseResult": map[string]any{"filePath": path, "oldString": "x", "originalFile": "x", "structuredPatch": []any{hunk}},
	})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(line) + "\n"
}

// of returns what is known of a frame.
func of(f *projecttest.Fixture, frame string) (l usage.FileList) {
	f.T.Helper()
	require.NoError(f.T, f.Store.View(f.Ctx, func(tx project.Tx) (err error) {
		l, err = usage.FilesWithPatches(f.Project.Step(tx, project.Caller{}), frame)
		return err
	}))
	return l
}

func TestChangesAreThoseOfTheFrameWorkedInAtTheTime(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	outer := f.Push(s, "outer")
	log.Write(edited(f.Tick(), "c1", "/w/a.go", "old\n", "new\nmore\n"))
	inner := f.Push(s, "inner")
	log.Write(edited(f.Tick(), "c2", "/w/a.go", "x\n", "y\n"))
	log.Write(edited(f.Tick(), "c3", "/w/b.go", "", "b\n"))
	f.Pop(s, "done")
	log.Write(edited(f.Tick(), "c4", "/w/a.go", "more\n", ""))
	f.Count(s, log)

	assert.Equal(t, usage.FileList{Files: []usage.ChangedFile{{
		Path: "/w/a.go", Kind: core.FileModified, Added: 2, Removed: 2, Changes: 2, Patch: "@@ -1,1 +1,1 @@\n-old\n+new\n+more\n@@ -1,1 +1,1 @@\n-more\n",
	}}}, of(f, outer.ID))
	assert.Len(t, of(f, inner.ID).Files, 2)
}

func TestPathsAreRelativeToTheWorktree(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	f.Dir = "/w"
	frame := f.Push(projecttest.Host("s"), "work")
	log.Write(edited(f.Tick(), "c1", "/w/src/a.go", "", "a\n") + edited(f.Tick(), "c2", "/elsewhere/b.go", "", "b\n"))
	f.Count(projecttest.Host("s"), log)
	l := of(f, frame.ID)
	require.Len(t, l.Files, 2)
	assert.Equal(t, []string{"/elsewhere/b.go", "src/a.go"}, []string{l.Files[0].Path, l.Files[1].Path})
}

func TestALogThatIsReadAgainChangesNothing(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	line := edited(f.Tick(), "c1", "/w/a.go", "", "a\n")
	log.Write(line)
	f.Count(s, log)
	want := of(f, frame.ID)
	require.Len(t, want.Files, 1)

	log.Write(line) // the host repeats itself
	f.Count(s, log)
	assert.Equal(t, want, of(f, frame.ID))
	require.NoError(t, os.WriteFile(log.Path, nil, 0o600)) // the log is written anew
	f.Count(s, log)
	log.Write(line)
	f.Count(s, log)
	assert.Equal(t, want, of(f, frame.ID))
	copied := projecttest.NewLog(f, "copy.jsonl") // and it moves
	copied.Write(line + edited(f.Tick(), "c2", "/w/a.go", "a\n", ""))
	f.Count(s, copied)
	assert.Equal(t, 2, of(f, frame.ID).Files[0].Changes)

	forked := projecttest.Host("fork") // its log begins with a copy
	other := f.Push(forked, "other work")
	fork := projecttest.NewLog(f, "fork.jsonl")
	fork.Write(line)
	f.Count(forked, fork)
	assert.Empty(t, of(f, other.ID).Files)
}

func TestOldPatchesMakeRoomAndAreCounted(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	for i := range 12 {
		log.Write(edited(f.Tick(), fmt.Sprint("c", i), fmt.Sprint("/w/", i), "", strings.Repeat(fmt.Sprintf("line %5d\n", i), 5000)))
	}
	f.Count(projecttest.Host("s"), log)
	assert.Len(t, of(f, frame.ID).Files, 9, "no more than half a megabyte in one transaction")
	f.Sweep()
	l := of(f, frame.ID)
	require.Len(t, l.Files, 12)
	size := 0
	for i, file := range l.Files {
		assert.Equal(t, 5000, file.Added)
		size += len(file.Patch)
		if file.Path == "/w/11" {
			assert.NotEmpty(t, file.Patch, "the newest stays")
		}
		if file.Path == "/w/0" {
			assert.True(t, file.Cut && file.Patch == "", i)
		}
	}
	assert.LessOrEqual(t, size, usage.MaxPatchBytes)
	assert.Greater(t, size, usage.MaxPatchBytes/2)
	assert.Equal(t, 8, l.Dropped)
}

func TestTooManyFilesAreCounted(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	frame := f.Push(projecttest.Host("s"), "work")
	var lines strings.Builder
	for i := range 600 {
		lines.WriteString(edited(f.Tick(), fmt.Sprint("c", i), fmt.Sprint("/w/", i), "", "a\n"))
	}
	log.Write(lines.String())
	f.Count(projecttest.Host("s"), log)
	l := of(f, frame.ID)
	assert.Len(t, l.Files, usage.MaxFiles)
	assert.Equal(t, 100, l.More)
}

// wrote is a line of a subagent's log, and ended the one that tells how that ended.
func wrote(at core.Millis, call, path string) string {
	return fmt.Sprintf(`{"type":"assistant","agentId":"c","timestamp":%q,"message":{"content":[{"type":"tool_use","id":%q,"name":"Write",`+
		`"input":{"file_path":%q,"content":"a\n"}}]}}`+"\n", projecttest.Stamp(at), call, path)
}

func ended(at core.Millis, call, said string, failed bool) string {
	return fmt.Sprintf(`{"type":"user","agentId":"c","timestamp":%q,"message":{"content":[{"type":"tool_result","tool_use_id":%q,`+
		`"content":%q,"is_error":%t}]}}`+"\n", projecttest.Stamp(at), call, said, failed)
}

func TestASubagentsCallCountsOnceItEndedWell(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	f.Push(projecttest.Host("s"), "work")
	f.Spawn(projecttest.Host("s"), "call", "look")
	f.Bind(projecttest.Host("s"), "call", "c")
	by := projecttest.Host("c")
	child := f.Current(by)
	log.Write(wrote(f.Tick(), "c1", "/w/new") + wrote(f.Tick(), "c2", "/w/old") + wrote(f.Tick(), "c3", "/w/denied") + wrote(f.Tick(), "c4", "/w/open"))
	f.Count(by, log)
	assert.Empty(t, of(f, child).Files)
	log.Write(ended(f.Tick(), "c1", "File created successfully at: /w/new (file state is current)", false) +
		ended(f.Tick(), "c2", "The file /w/old has been updated successfully.", false) + ended(f.Tick(), "c3", "not allowed", true))
	f.Count(by, log)
	assert.Equal(t, []usage.ChangedFile{
		{Path: "/w/new", Kind: core.FileAdded, Added: 1, Changes: 1, Patch: "@@ -0,0 +1,1 @@\n+a\n"},
		{Path: "/w/old", Kind: core.FileModified, Added: 1, Changes: 1, Patch: "@@ -0,0 +1,1 @@\n+a\n", Inexact: true},
	}, of(f, child).Files)
}

// removed has a session delete a file, which leaves no artifact: a frame with no more than
// that counts as one without work.
func removed(f *projecttest.Fixture, by project.Caller) {
	f.T.Helper()
	call := usage.FileCall{ID: "c1", Files: []core.FileChange{{Path: "/w/a", Kind: core.FileDeleted, Removed: 1, Patch: "@@ -1,1 +0,0 @@\n-a\n"}}}
	require.NoError(f.T, usage.NoteFileCall(f.Ctx, f.Project, by, call))
}

func TestAWrittenFileIsAnArtifactWithoutAnEvent(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	require.NoError(t, stack.NoteFiles(f.Ctx, f.Project, s, []string{"/w/told"}))
	log.Write(edited(f.Tick(), "c1", "/w/told", "", "a\n") + edited(f.Tick(), "c2", "/w/missed", "", "a\n"))
	f.Pop(s, "done")
	f.Count(s, log)
	assert.Equal(t, []string{"/w/told", "/w/missed"}, f.Get(frame.ID).Artifacts, "each once, in the frame that it was done in")
}

func TestChangesMoveWithTheWork(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	s := projecttest.Host("s")
	planned := f.Plan(projecttest.Shell, "", "planned")[0]
	f.Prompt(s, "p1", "please do it")
	root := f.Current(s)
	removed(f, s)
	require.Len(t, of(f, root).Files, 1)
	f.Activate(s, planned.ID)
	require.Len(t, of(f, planned.ID).Files, 1)
	assert.Equal(t, "@@ -1,1 +0,0 @@\n-a\n", of(f, planned.ID).Files[0].Patch)
	assert.Empty(t, of(f, root).Files)
}

// A supervisor counts what an agent uses, and its host's log tells what it changed; the
// log of a session that an agent's was may go on.
func TestChangesOfASupervisedSessionAreInItsLog(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	frame := f.Push(s, "work")
	from := func(since core.Millis) {
		require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error { return project.CountFrom(tx, "s", since) }))
	}
	from(project.CountNever)
	log.Answer("m1")
	log.Write(edited(f.Tick(), "c1", "/w/a", "", "a\n"))
	f.Count(s, log)
	assert.Equal(t, 1, of(f, frame.ID).Files[0].Added)
	from(f.Tick())
	log.Answer("m2")
	log.Write(edited(f.Tick(), "c2", "/w/a", "", "a\n") + edited(f.Tick(), "c1", "/w/a", "", "a\n"))
	f.Count(s, log)
	assert.Equal(t, 2, of(f, frame.ID).Files[0].Added)
	assert.InDelta(t, 1, f.Spent(frame.ID), 1e-9, "of what was used, only the rest")
}

func TestChangesOfADeletedFrameAreForgotten(t *testing.T) {
	t.Parallel()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("s")
	f.Prompt(s, "p1", "please do it")
	root := f.Current(s)
	removed(f, s)
	require.Len(t, of(f, root).Files, 1)
	f.Clock += 30 * project.Day
	pruned, err := sweep.Prune(f.Ctx, f.Project, true)
	require.NoError(t, err)
	require.Len(t, pruned, 1)
	assert.Empty(t, of(f, root).Files)
	log.Write(edited(f.Tick(), "c2", "/w/a", "", "a\n"))
	f.Count(s, log)
	assert.Empty(t, of(f, root).Files, "nothing is kept for a frame that is gone")
}
