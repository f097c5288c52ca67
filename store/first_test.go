package store_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/storetest"
)

// The moment at which many processes find no data yet: hooks of a host that
// starts its agents side by side.
func TestFirstUseByManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	const watchers, writers, writes = 8, 4, 3
	for range 3 {
		dir := filepath.Join(t.TempDir(), "not", "there", "data")
		cmds := make([]*exec.Cmd, 0, watchers+writers)
		for w := range watchers {
			cmds = append(cmds, child(t, dir, "burst", fmt.Sprintf("watcher-%d", w)))
		}
		for w := range writers {
			cmds = append(cmds, child(t, dir, "burst", fmt.Sprintf("writer-%d", w), fmt.Sprint(writes)))
		}
		atOnce(t, cmds)
		kept := open(t, dir, store.Options{})
		assertWhole(t, kept, nil)
		storetest.View(t, kept, func(tx project.Tx) {
			counts, err := tx.CountFrames(project.FrameQuery{})
			require.NoError(t, err)
			assert.Equal(t, watchers+writers*writes, counts[core.InProgress])
		})
	}
}

// atOnce runs cmds, whose input ends for all of them at the same moment.
func atOnce(t *testing.T, cmds []*exec.Cmd) {
	t.Helper()
	input, release, err := os.Pipe()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for _, cmd := range cmds {
		cmd.Stdin = input
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		wg.Go(func() { assert.NoError(t, cmd.Wait(), "%s", &out) })
	}
	require.NoError(t, release.Close())
	wg.Wait()
	require.NoError(t, input.Close())
}

func TestKilledWhileMakingTheDatabase(t *testing.T) {
	t.Parallel()
	const kills = 10
	for k := range kills {
		dir := filepath.Join(t.TempDir(), "data")
		cmd := child(t, dir, "write", "killed", "1")
		require.NoError(t, cmd.Start())
		// A process that makes the database and writes into it takes about 10 ms.
		time.Sleep(10 * time.Millisecond * time.Duration(k) / time.Duration(kills))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, opts := range []store.Options{{}, {LongLived: true}} {
			assert.Empty(t, broken(store.Check(context.Background(), dir)))
			kept := open(t, dir, opts)
			storetest.Found(t, kept, project.FrameQuery{})
			storetest.Save(t, kept, core.Frame{ID: "f-1"})
			assert.Contains(t, storetest.Found(t, kept, project.FrameQuery{}), "f-1")
		}
		assertSound(t, dir)
	}
}

// What processes that were killed may have left, of this flame and of earlier
// ones, which made the database in its place.
func TestEveryStateOfANewDatabase(t *testing.T) {
	t.Parallel()
	write := func(name string, text []byte) func(*testing.T, string) {
		return func(t *testing.T, data string) {
			require.NoError(t, os.WriteFile(filepath.Join(data, name), text, 0o600))
		}
	}
	nothing := func(*testing.T, string) {}
	sqlite := func(statements string) func(*testing.T, string) {
		return func(t *testing.T, data string) { execute(t, filepath.Join(data, "flame.db"), statements) }
	}
	tests := map[string][]func(t *testing.T, data string){
		"no folder":                    {func(t *testing.T, data string) { require.NoError(t, os.Remove(data)) }},
		"an empty folder":              {nothing},
		"an empty file":                {write("flame.db", nil)},
		"an empty log":                 {write("flame.db", nil), write("flame.db-wal", nil)},
		"an empty log only":            {write("flame.db-wal", nil)},
		"the header alone":             {sqlite("PRAGMA user_version = 1; PRAGMA user_version = 0")},
		"the header alone, with a log": {sqlite("PRAGMA journal_mode = WAL"), write("flame.db-wal", nil)},
		"a log without a transaction": {sqlite("PRAGMA journal_mode = WAL"), func(t *testing.T, data string) {
			beginOfALog(t, filepath.Join(data, "flame.db"))
		}},
		"a journal of an empty file": {write("flame.db", nil), write("flame.db-journal", journalOfAnEmptyFile())},
		"a journal of a file that was empty": {
			sqlite("PRAGMA user_version = 1"), write("flame.db-journal", journalOfAnEmptyFile()),
		},
		"half of a database beside": {
			write("flame.db.unfinished", []byte("SQLite format 3\x00")), write("flame.db.unfinished-wal", []byte("garbage")),
		},
		"folders in the place of that half": {func(t *testing.T, data string) {
			require.NoError(t, os.MkdirAll(filepath.Join(data, "flame.db.unfinished", "folder"), 0o700))
		}},
	}
	for name, steps := range tests {
		for kind, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
			for first, looks := range map[string]bool{"View first": true, "Update first": false} {
				t.Run(strings.Join([]string{name, kind, first}, ", "), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					for _, step := range steps {
						step(t, dir)
					}
					assert.Empty(t, broken(store.Check(context.Background(), dir)))
					kept := open(t, dir, opts)
					if looks {
						assert.Empty(t, storetest.Found(t, kept, project.FrameQuery{}))
					}
					storetest.Save(t, kept, core.Frame{ID: "f-1"})
					assert.Equal(t, "f-1", storetest.Found(t, kept, project.FrameQuery{}))
					require.NoError(t, kept.Close())
					assert.Equal(t, "f-1", storetest.Found(t, open(t, dir, opts), project.FrameQuery{}))
					assertSound(t, dir)
				})
			}
		}
	}
}

// journalOfAnEmptyFile is the journal of a first write into an empty file: it says
// that the file had no pages.
func journalOfAnEmptyFile() []byte {
	const sector, page = 512, 4096
	journal := append([]byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}, make([]byte, 12)...)
	journal = binary.BigEndian.AppendUint32(journal, sector)
	journal = binary.BigEndian.AppendUint32(journal, page)
	return append(journal, make([]byte, sector-len(journal))...)
}

// beginOfALog leaves the log of a transaction that was killed before its end.
func beginOfALog(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=cache_size(1)")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN; CREATE TABLE x (y); " +
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO x SELECT randomblob(3000) FROM n")
	require.NoError(t, err)
	log, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.NotEmpty(t, log)
	require.NoError(t, db.Close())
	require.NoError(t, os.WriteFile(path+"-wal", log, 0o600))
}
