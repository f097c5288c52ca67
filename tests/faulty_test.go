package tests

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/outline"
	"flame/project"
	"flame/store"
	"flame/tests/cases"
	"flame/tests/effort"
)

// execute runs SQL on the database.
func (b *bounded) execute(statements string) {
	db, err := sql.Open("sqlite", b.file())
	require.NoError(b.t, err)
	db.SetMaxOpenConns(1) // the pragma is its connection's
	_, err = db.Exec("PRAGMA ignore_check_constraints = 1; " + statements)
	require.NoError(b.t, errors.Join(err, db.Close()))
}

// save writes frames into the data as flame does, and a session whose current frame is the last.
func (b *bounded) save(frames []core.Frame) {
	kept := store.Open(b.data.Path, store.Options{Ready: b.data.Ready})
	require.NoError(b.t, kept.Update(context.Background(), func(tx project.Tx) error {
		for _, f := range frames {
			if err := tx.SaveFrame(f); err != nil {
				return err
			}
		}
		last := frames[len(frames)-1].ID
		return tx.SaveSession(core.Session{
			ID: "session", Host: "claude-code", State: core.SessionActive, Root: last, Current: last, LastActivityAt: 1,
		})
	}))
	require.NoError(b.t, kept.Close())
}

// bushy is a tree of n frames: each of the first has ten children, and a chain of 60 hangs from
// the last one, so that neither a tool's tree nor a status can show it all.
func bushy(n int) []core.Frame {
	frames := make([]core.Frame, n)
	for i := range frames {
		frames[i] = core.Frame{
			ID: fmt.Sprintf("f-%05d", i), Parent: fmt.Sprintf("f-%05d", (i-1)/10), Status: core.InProgress,
			Goal: fmt.Sprintf("word goal %d", i), Summary: strings.Repeat("summary ", 20),
			CreatedAt: core.Millis(i + 1), UpdatedAt: core.Millis(i + 1),
		}
		if i >= n-60 {
			frames[i].Parent = fmt.Sprintf("f-%05d", i-1)
		}
	}
	frames[0].Parent = ""
	return frames
}

// reads are the commands that read a project; $ID is the current frame.
var reads = []string{
	"tree", "tree --all --details", "tree --json", "tree $ID", "tree $ID --json", "status", "status --json",
	"show $ID", "context $ID", "search word", "stats", "doctor", "call flame_tree", `call flame_tree {"rootID":"$ID"}`, "call flame_status",
	"call flame_get_state", `call flame_frame_details {"frameID":"$ID"}`, `call flame_context_preview {"frameID":"$ID"}`,
}

// readAll runs every reading command, and export.
func (b *bounded) readAll(id string) {
	for _, line := range reads {
		b.run(strings.Fields(strings.ReplaceAll(line, "$ID", id))...)
	}
	b.run("export", filepath.Join(inMemory(b.t), "out"))
}

// inMemory returns a folder where many files cost little. A disk is slow after many files were
// deleted a moment ago.
func inMemory(t *testing.T) string {
	const memory, plenty = "/dev/shm", 1 << 30 // containers may have very little of it
	var there syscall.Statfs_t
	if syscall.Statfs(memory, &there) != nil || there.Bavail*uint64(there.Bsize) < plenty {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "flame-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func TestImpossibleRowsAreShownAndNamed(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	const n, current = 500, "f-00499"
	tests := cases.Read[string](t, "testdata/faulty.yaml")
	for name, harm := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBounded(t)
			b.save(bushy(n))
			b.execute(harm)
			b.readAll(current)
			assert.Len(t, b.shown("tree", "--all"), n, "each frame has a line")
			assert.Equal(t, n, countNodes(t, b.must("tree", "--json")))

			out, ok := b.run("doctor")
			assert.False(t, ok)
			assert.Contains(t, out, "BROKEN ")
			assert.Contains(t, out, "flame.db can be read: version ", "it is not sound")
			sound := filepath.Join(inMemory(t), "out")
			out = b.must("export", sound)
			var written int
			_, err := fmt.Sscan(out, &written)
			require.NoError(t, err, out)
			assert.Equal(t, written < n, strings.Contains(out, "left out"), out)
			if written == 0 {
				return
			}
			b = newBounded(t)
			b.must("import", sound)
			out = b.must("doctor")
			assert.NotContains(t, out, "BROKEN ")
			assert.Contains(t, out, "flame.db is sound: version ", "nor is there a note about rows")
			lines := b.shown("tree", "--all")
			assert.Len(t, lines, written)
			assert.NotContains(t, strings.Join(lines, ""), " (it", "none has a fault")
		})
	}
}

// shown returns the lines of a tree without its legend.
func (b *bounded) shown(args ...string) []string {
	lines := strings.Split(strings.TrimSuffix(b.must(args...), "\n"), "\n")
	require.Contains(b.t, lines[len(lines)-1], outline.Legend())
	return lines[:len(lines)-1]
}

// A jsonNode is a frame of `flame tree --json`.
type jsonNode struct {
	ID       string
	Children []jsonNode
	More     map[string]int
}

// countNodes returns the number of frames in a tree, including those that it only counts.
func countNodes(t *testing.T, document string) (n int) {
	var nodes []jsonNode
	require.NoError(t, json.Unmarshal([]byte(document), &nodes))
	for len(nodes) > 0 {
		at := nodes[len(nodes)-1]
		nodes = append(nodes[:len(nodes)-1], at.Children...)
		n++
		for _, count := range at.More {
			n += count
		}
	}
	return n
}

// treePages returns the numbers of the pages that belong to a tree of SQLite's, by the first byte
// of their format, and hold cells: empty pages are alike.
func treePages(t *testing.T, raw []byte) (pages []int) {
	for page := 2; page <= len(raw)/pageSize; page++ {
		header := raw[(page-1)*pageSize:]
		if slices.Contains([]byte{2, 5, 10, 13}, header[0]) && binary.BigEndian.Uint16(header[3:]) > 0 {
			pages = append(pages, page)
		}
	}
	require.NotEmpty(t, pages)
	return pages
}

const pageSize = 4096 // bytes

func TestSwappedPagesAreFoundAndBlockNothing(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	const n = 1000
	sound := newBounded(t)
	sound.save(bushy(n))
	raw, err := os.ReadFile(sound.file())
	require.NoError(t, err)
	pages := treePages(t, raw)
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 4))
			swapped := bytes.Clone(raw)
			one, other := pages[r.IntN(len(pages))], pages[r.IntN(len(pages))]
			if one == other {
				t.Skip("a page stays where it is")
			}
			copy(swapped[(one-1)*pageSize:one*pageSize], raw[(other-1)*pageSize:other*pageSize])
			copy(swapped[(other-1)*pageSize:other*pageSize], raw[(one-1)*pageSize:one*pageSize])

			b := newBounded(t)
			b.save(bushy(1)) // this creates the folder
			require.NoError(t, os.WriteFile(b.file(), swapped, 0o600))
			b.readAll(fmt.Sprintf("f-%05d", n-1))
			if drawn, ok := b.run("tree", "--all"); ok {
				assert.Equal(t, n+1, strings.Count(drawn, "\n"), "what can be drawn is all of it")
			}
			out, ok := b.run("doctor")
			assert.False(t, ok, "pages %d and %d", one, other)
			assert.Contains(t, out, "BROKEN ")
			left, err := os.ReadFile(b.file())
			require.NoError(t, err)
			assert.Equal(t, swapped, left, "it stays as it is")
		})
	}
}
