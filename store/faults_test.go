package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/store/disk"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

// filled makes a project with a few hundred frames, closed, and returns its folder.
func filled(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	kept := store.Open(dir, projecttest.Copied(dir, store.Options{}))
	fill(t, kept, 300)
	require.NoError(t, kept.Close())
	return dir
}

func fill(t testing.TB, kept project.Store, n int) {
	t.Helper()
	storetest.Update(t, kept, func(tx project.Tx) {
		for i := range n {
			require.NoError(t, tx.SaveFrame(core.Frame{
				ID: fmt.Sprintf("f-%d", i), Status: core.Completed, Goal: fmt.Sprintf("goal number %d", i),
				Results: strings.Repeat("text ", 200), CreatedAt: core.Millis(i), UpdatedAt: core.Millis(i),
			}))
		}
	})
}

// execute runs SQL on a database as another program would.
func execute(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.Exec(statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// copied returns a copy of a data folder as a crash at this moment would leave it.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	require.NoError(t, os.Remove(filepath.Join(to, "flame.db-shm")))
	return to
}

func TestDamageIsAnErrorAndStays(t *testing.T) {
	t.Parallel()
	truncate := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, db string) { require.NoError(t, os.Truncate(db, size)) }
	}
	write := func(text string) func(*testing.T, string) {
		return func(t *testing.T, db string) { require.NoError(t, os.WriteFile(db, []byte(text), 0o600)) }
	}
	tests := map[string]struct {
		harm    func(t *testing.T, db string)
		message string
	}{
		"a truncated file":     {truncate(100_000), "damaged"},
		"zeros":                {write(strings.Repeat("\x00", 100_000)), "damaged"},
		"a line of text":       {write("hello\n"), "damaged"},
		"an image":             {write("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + strings.Repeat("\x00\xff", 4000)), "damaged"},
		"a lone magic":         {write("SQLite format 3\x00"), "damaged"},
		"pages of three bytes": {write("SQLite format 3\x00" + "\x00\x03" + strings.Repeat("\x01", 1000)), "damaged"},
		"a hostile header": {write("SQLite format 3\x00" + "\x00\x01\x02\x02" + strings.Repeat("\xff", 8) + "\xff\xff\xff\xff" +
			strings.Repeat("\xff", 68) + strings.Repeat("x", 1000)), "damaged"},
		"a log without its database": {func(t *testing.T, db string) {
			require.NoError(t, os.Rename(db, db+"-wal"))
		}, "damaged"},
		"a newer schema": {func(t *testing.T, db string) {
			execute(t, db, "PRAGMA user_version = 99; UPDATE meta SET value = 99 WHERE name = 'oldest'")
		}, "newer flame"},
		"another program's database": {func(t *testing.T, db string) {
			require.NoError(t, os.Remove(db))
			execute(t, db, "CREATE TABLE theirs (x)")
		}, "another program"},
		"another program's database with a version": {func(t *testing.T, db string) {
			require.NoError(t, os.Remove(db))
			execute(t, db, "CREATE TABLE theirs (x); PRAGMA user_version = 7")
		}, "another program"},
		"a folder in its place": {func(t *testing.T, db string) {
			require.NoError(t, os.Remove(db))
			require.NoError(t, os.Mkdir(db, 0o700))
		}, "is a folder"},
		"another program's database with the version of this flame": {func(t *testing.T, db string) {
			require.NoError(t, os.Remove(db))
			execute(t, db, "CREATE TABLE theirs (x); PRAGMA user_version = 2")
		}, "another program"},
		"another program's database with a table of the same name": {func(t *testing.T, db string) {
			require.NoError(t, os.Remove(db))
			execute(t, db, "CREATE TABLE meta (name, value); PRAGMA user_version = 2")
		}, "another program"},
		"a log that is none": {func(t *testing.T, db string) {
			require.NoError(t, os.WriteFile(db+"-wal", []byte(strings.Repeat("garbage ", 5000)), 0o600))
		}, "damaged"},
	}
	for name, tt := range tests {
		for kind, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				dir := filled(t)
				db := filepath.Join(dir, "flame.db")
				tt.harm(t, db)
				before := contents(t, dir)
				kept := open(t, dir, opts)
				for range 2 { // a failure is not remembered as something else
					for _, err := range []error{
						kept.View(context.Background(), func(project.Tx) error { return nil }),
						kept.Update(context.Background(), func(project.Tx) error { return nil }),
					} {
						p := unavailable(t, err)
						assert.Contains(t, p.Message, db)
						assert.Contains(t, p.Message, tt.message)
						assert.Contains(t, p.Hint, "flame doctor")
					}
				}
				findings := broken(store.Check(context.Background(), dir))
				require.NotEmpty(t, findings)
				assert.Contains(t, findings[0].What, db)
				assert.NotEmpty(t, findings[0].Hint)
				assert.Equal(t, before, contents(t, dir), "what is there stays as it is")
			})
		}
	}
}

// contents returns the database and its log, if there are any.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range []string{"flame.db", "flame.db-wal"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(text) > 0 {
			texts[name] = string(text)
		}
	}
	return texts
}

func TestHalfAPageIsFound(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	file, err := os.OpenFile(filepath.Join(dir, "flame.db"), os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte(strings.Repeat("garbage ", 256)), 20*4096)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	findings := broken(store.Check(context.Background(), dir))
	require.NotEmpty(t, findings)
	assert.Contains(t, findings[0].Hint, "recover")
}

func TestTruncatedFileWithALog(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	kept := open(t, dir, store.Options{LongLived: true})
	storetest.Save(t, kept, core.Frame{ID: "in-the-log"})
	crashed := copied(t, dir)
	require.NoError(t, os.Truncate(filepath.Join(crashed, "flame.db"), 100*4096))
	assert.Contains(t, unavailable(t, open(t, crashed, store.Options{}).View(context.Background(),
		func(project.Tx) error { return nil })).Message, "damaged")
}

// A checkpoint writes the first page, which tells of the pages to come, before
// those. Killed there, the log still has everything.
func TestCheckpointKilledHalfway(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	kept := store.Open(dir, store.Options{LongLived: true})
	fill(t, kept, 1200) // within the log
	crashed := copied(t, dir)
	require.NoError(t, kept.Close()) // works the log in
	done, err := os.ReadFile(filepath.Join(dir, "flame.db"))
	require.NoError(t, err)
	half, err := os.OpenFile(filepath.Join(crashed, "flame.db"), os.O_RDWR, 0)
	require.NoError(t, err)
	info, err := half.Stat()
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(len(done)))
	_, err = half.WriteAt(done[:4096], 0)
	require.NoError(t, err)
	require.NoError(t, half.Close())

	again := open(t, crashed, store.Options{})
	storetest.View(t, again, func(tx project.Tx) {
		counts, err := tx.CountFrames(project.FrameQuery{})
		require.NoError(t, err)
		assert.Equal(t, 1200, counts[core.Completed])
	})
	storetest.Save(t, again, core.Frame{ID: "goes on"})
	assertSound(t, crashed)
}

func TestNewerSchemaThatOlderBinariesMayUse(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	execute(t, filepath.Join(dir, "flame.db"), "PRAGMA user_version = 99; ALTER TABLE frames ADD COLUMN later TEXT")
	kept := open(t, dir, store.Options{})
	storetest.Save(t, kept, core.Frame{ID: "f-0", Goal: "changed"})
	assert.Equal(t, "f-0", storetest.Found(t, kept, project.FrameQuery{Text: "changed"}))
}

func TestRemovedUnderARunningProcess(t *testing.T) {
	t.Parallel()
	for kind, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
		for name, remove := range map[string]func(dir string) error{
			"the folder is removed": os.RemoveAll,
			"the file is removed":   func(dir string) error { return os.Remove(filepath.Join(dir, "flame.db")) },
			"the log is removed":    func(dir string) error { return os.Remove(filepath.Join(dir, "flame.db-wal")) },
			"the folder is replaced": func(dir string) error {
				if err := os.Rename(dir, dir+"-old"); err != nil {
					return err
				}
				return os.CopyFS(dir, os.DirFS(dir+"-old"))
			},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				dir := filled(t)
				kept := open(t, dir, opts)
				storetest.Save(t, kept, core.Frame{ID: "f-new"})
				storetest.Found(t, kept, project.FrameQuery{})
				require.NoError(t, remove(dir))
				_, before := os.Stat(dir)
				for range 2 {
					for _, err := range []error{
						kept.Update(context.Background(), func(tx project.Tx) error {
							return tx.SaveFrame(core.Frame{ID: "lost", Status: core.Planned})
						}),
						kept.View(context.Background(), func(project.Tx) error { return nil }),
					} {
						p := unavailable(t, err)
						assert.Contains(t, p.Message, "removed or replaced")
						assert.Contains(t, p.Hint, "restart")
					}
				}
				_, after := os.Stat(dir)
				assert.Equal(t, before == nil, after == nil, "nothing is made anew in silence")
			})
		}
	}
}

// readable makes a copy of a data folder that its owner may read and not write; it
// gives a way to run a child as that owner, whom permissions must bind.
func readable(t *testing.T, dir string) (copied string, asOwner func(*exec.Cmd) *exec.Cmd) {
	t.Helper()
	parent, err := os.MkdirTemp("", "flame-readonly-")
	require.NoError(t, err)
	copied = filepath.Join(parent, "data")
	t.Cleanup(func() {
		assert.NoError(t, os.Chmod(copied, 0o700))
		assert.NoError(t, os.RemoveAll(parent))
	})
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	asOwner = owned(t, copied)
	entries, err := os.ReadDir(copied)
	require.NoError(t, err)
	for _, entry := range entries {
		require.NoError(t, os.Chmod(filepath.Join(copied, entry.Name()), 0o444))
	}
	require.NoError(t, os.Chmod(copied, 0o555))
	require.NoError(t, os.Chmod(parent, 0o755))
	return copied, asOwner
}

// owned returns dir and what is in it to a user whom permissions bind, and a way to
// run a child as that one.
func owned(t *testing.T, dir string) (asOwner func(*exec.Cmd) *exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		return func(cmd *exec.Cmd) *exec.Cmd { return cmd }
	}
	const nobody = 65534
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	}))
	return func(cmd *exec.Cmd) *exec.Cmd {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return cmd
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T) string{
		"closed cleanly": filled,
		"with a log and its shared memory": func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "data")
			fill(t, open(t, dir, store.Options{}), 300)
			return dir
		},
		"of an older version": func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, "flame.db")
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			c, err := disk.New(path).Connect(t.Context(), nil)
			require.NoError(t, err)
			older := disk.Schema{Version: 6, Step: disk.NewestSchema.Step}
			require.NoError(t, older.Apply(t.Context(), c, 0))
			require.NoError(t, c.UseLog(t.Context()))
			require.NoError(t, c.Close())
			execute(t, path, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
				INSERT INTO ids SELECT i, 'f-' || i FROM n;
				INSERT INTO frames (key, status, created_at, started_at, ended_at, updated_at, archived_at, invalidated_at, invalidation_reason, goal_is_default,
					tokens_in, tokens_out, cache_read, cache_written, cost_usd, tool_calls, log_path, planned_children, goal, success_criteria,
					artifacts, decisions, summary, results)
				SELECT key, 'planned', 1, 0, 0, 1, 0, 0, '', 0, 0, 0, 0, 0, 0.0, 0, '', '[]', 'g', '', '[]', '[]', '', '' FROM ids`)
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, asOwner := readable(t, prepare(t))
			out, err := asOwner(child(t, dir, "read")).CombinedOutput()
			assert.NoError(t, err)
			assert.Equal(t, "300\n", string(out), "reading works")
			out, err = asOwner(child(t, dir, "write", "x", "1")).CombinedOutput()
			assert.Error(t, err)
			assert.Contains(t, string(out), "cannot be opened or written")
			assert.Contains(t, string(out), filepath.Join(dir, "flame.db"))
		})
	}
}

// A limit on the size of files stands in for a disk that is full.
func TestFileThatCannotGrow(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	path, err := buildChild()
	require.NoError(t, err)
	out, err := exec.Command("sh", "-c", `ulimit -f 600 && exec "$0" "$1" write x 5000`, path, dir).CombinedOutput()
	require.Error(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	assert.Contains(t, lines[len(lines)-1], "error: "+filepath.Join(dir, "flame.db"))
	kept := open(t, dir, store.Options{})
	assertSound(t, dir)
	for _, id := range lines[:len(lines)-1] {
		storetest.View(t, kept, func(tx project.Tx) {
			_, err := tx.Frame(id)
			assert.NoError(t, err, "what was acknowledged is there")
		})
	}
	storetest.Save(t, kept, core.Frame{ID: "goes on"})
}
