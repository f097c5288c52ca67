package graph_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/graph"
	"flame/tests/hoststest"
)

// following returns what Follow shows of path, one trail at a time.
func following(t *testing.T, path string) (next func() graph.LogGraph) {
	t.Helper()
	shown := make(chan graph.LogGraph)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	t.Cleanup(func() { cancel(); <-over }) // before the folder that it reads is removed
	go func() {
		defer close(over)
		_ = graph.FollowLogs(ctx, hoststest.Known().Formats(), path, nil, time.Millisecond, func(told graph.LogGraph) error {
			select {
			case shown <- told:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	return func() graph.LogGraph {
		select {
		case told := <-shown:
			return told
		case <-time.After(time.Minute):
			t.Fatal("nothing is shown")
		}
		return graph.LogGraph{}
	}
}

// until asks for trails up to one like one of these.
func until(t *testing.T, next func() graph.LogGraph, want ...string) {
	t.Helper()
	for !slices.Contains(want, outline(next())) {
	}
}

func TestFollowingALogAsItGrows(t *testing.T) {
	for name, files := range map[string]string{"what the client prints": "family/stream.ndjson", "a session's files": claudeFamily + ".jsonl"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.Base(files))
			text, err := os.ReadFile(logSamples + files)
			require.NoError(t, err)
			half := bytes.IndexByte(text, '\n') + len(text)/3
			require.NoError(t, os.WriteFile(path, text[:half], 0o644))
			next := following(t, path)
			assert.Len(t, next().Torn, 1, "an incomplete last line is not read yet")
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = file.Write(text[half:])
			require.NoError(t, err)
			require.NoError(t, file.Close())
			below := filepath.Join(logSamples+claudeFamily, "subagents")
			if strings.HasSuffix(files, ".jsonl") {
				require.NoError(t, os.CopyFS(filepath.Join(dir, filepath.Base(claudeFamily), "subagents"), os.DirFS(below)))
			}
			until(t, next, outline(track(t, logSamples+files)))
		})
	}
}

func TestFollowingALogThatIsReplaced(t *testing.T) {
	line := func(session string) []byte {
		return []byte(`{"type":"user","sessionId":"` + session + `","message":{"content":"` + session + `"}}` + "\n")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	require.NoError(t, os.WriteFile(path, append(line("first"), line("second")...), 0o644))
	next := following(t, dir)
	until(t, next, "session  \"first\" initializing\nsession  \"second\" initializing\n")
	for range 2_000 { // each time there is nothing in it for a moment, which looks fall into
		require.NoError(t, os.WriteFile(path, line("cut"), 0o644))
	}
	until(t, next, "session  \"cut\" initializing\n")
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, append(line("moved in"), line("longer than before")...), 0o644))
	require.NoError(t, os.Rename(other, path))
	until(t, next, "session  \"moved in\" initializing\nsession  \"longer than before\" initializing\n")
	require.NoError(t, os.Rename(path, filepath.Join(dir, "renamed.jsonl")))
	require.NoError(t, os.WriteFile(path, line("new"), 0o644))
	renamed, fresh := "session  \"moved in\" initializing\nsession  \"longer than before\" initializing\n", "session  \"new\" initializing\n"
	until(t, next, renamed+fresh, fresh+renamed) // a look that began before the renaming meets the new log first
}

func TestFollowingADatabase(t *testing.T) {
	path := databaseOf(t, logSamples+"family/opencode.sql")
	next := following(t, path)
	before := outline(next())
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	_, err = db.Exec("UPDATE session SET title = 'ANOTHER' WHERE parent_id IS NULL")
	require.NoError(t, err)
	until(t, next, strings.Replace(before, "A title", "ANOTHER", 1))
	require.NoError(t, db.Close())
}

func TestFollowingInput(t *testing.T) {
	text, err := os.ReadFile(logSamples + "family/stream.ndjson")
	require.NoError(t, err)
	r, w := io.Pipe()
	half := len(text) / 2
	go func() { _, _ = w.Write(text[:half]) }()
	var last graph.LogGraph
	err = graph.FollowLogs(t.Context(), hoststest.Known().Formats(), "-", r, time.Millisecond, func(told graph.LogGraph) error {
		if len(last.Nodes) == 0 && len(told.Nodes) > 0 { // what came is shown before the end
			go func() {
				_, _ = w.Write(text[half:])
				w.Close()
			}()
		}
		last = told
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, outline(track(t, logSamples+"family/stream.ndjson")), outline(last))
}

func TestFollowingEndsWithAnErrorOfTheReader(t *testing.T) {
	stop := errors.New("enough")
	err := graph.FollowLogs(t.Context(), hoststest.Known().Formats(), logSamples+"family/stream.ndjson", nil, time.Hour,
		func(graph.LogGraph) error { return stop })
	require.ErrorIs(t, err, stop)
	err = graph.FollowLogs(t.Context(), hoststest.Known().Formats(), filepath.Join(t.TempDir(), "none"), nil, time.Hour,
		func(graph.LogGraph) error { return nil })
	require.ErrorIs(t, err, os.ErrNotExist)
}
