package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

// planted makes a project with a small tree and a session, closed, and returns its
// folder and database.
func planted(t *testing.T) (dir, db string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	kept := store.Open(dir, projecttest.Copied(dir, store.Options{}))
	storetest.Save(t, kept,
		core.Frame{ID: "root", Session: "s", Goal: "word root", PlannedChildren: []string{"one", "two"}, CreatedAt: 1, UpdatedAt: 1},
		core.Frame{ID: "one", Parent: "root", Goal: "word one", Status: core.Planned, CreatedAt: 2, UpdatedAt: 2},
		core.Frame{ID: "two", Parent: "root", Goal: "word two", CreatedAt: 3, UpdatedAt: 3, Decisions: []string{"decided"}},
		core.Frame{ID: "leaf", Parent: "two", Goal: "word leaf", CreatedAt: 4, UpdatedAt: 4})
	storetest.Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.SaveSession(core.Session{ID: "s", Root: "root", Current: "leaf"}))
	})
	require.NoError(t, kept.Close())
	return dir, filepath.Join(dir, "flame.db")
}

// key is SQL for the key of an id.
func key(id string) string { return "(SELECT key FROM ids WHERE id = '" + id + "')" }

// repairTime is when repairs of tests happen.
const repairTime = core.Millis(1_800_000_000_000)

func repair(t *testing.T, dir string) core.Repaired {
	t.Helper()
	var made atomic.Int64
	done, err := store.Repairer{
		Now:   func() core.Millis { return repairTime },
		NewID: func(kind string) string { return fmt.Sprintf("%s-new%05d", kind, made.Add(1)) },
	}.Repair(context.Background(), dir)
	require.NoError(t, err)
	return done
}

const unreadableTwo = "1 frame with a value that cannot be read: two"

func TestRowsThatCannotBeAreFoundAndMended(t *testing.T) {
	t.Parallel()
	const whole = "root .one .two ..leaf"
	set := func(id, change string) string { return "UPDATE frames SET " + change + " WHERE key = " + key(id) }
	tests := map[string]struct {
		harm  string // SQL
		found string // what the finding begins with
		note  bool
		event string // of which frame, and the field: what the event of the repair is about
		shape string // of the tree after the repair
	}{
		"an empty id": {
			"UPDATE ids SET id = '' WHERE id = 'two'", "1 frame without an id: row ", false, "frame-new00001 id", "root .one .frame-new00001 ..leaf",
		},
		"no id at all": {
			"DELETE FROM ids WHERE id = 'two'", "1 frame without an id: row ", false, "frame-new00001 id", "root .one .frame-new00001 ..leaf",
		},
		"its own parent":    {set("two", "parent = key"), "1 frame with itself as parent: two", false, "two parent", "two .leaf root .one"},
		"a cycle":           {set("two", "parent = "+key("leaf")), "2 frames in a cycle of parents: ", false, "two parent", "leaf two root .one"},
		"a missing parent":  {set("two", "parent = 4711"), "1 frame with a missing parent: two", false, "two parent", "two .leaf root .one"},
		"an unknown status": {set("two", "status = 'odd'"), "1 frame of an unknown status: two", false, "two status", whole},
		"a missing root":    {"UPDATE sessions SET root = 4711", "1 session with a missing root frame: s", true, "", whole},
		"a missing current frame": {
			"UPDATE sessions SET current = 4711", "1 session with a missing current frame: s", true, "", whole,
		},
		"missing planned children": {
			set("root", `planned_children = '["gone", "one", "?"]'`), "1 frame with missing planned children: root", true,
			"root plannedChildren", whole,
		},
		"a list that is none":    {set("two", "decisions = 'decided, badly'"), unreadableTwo, false, "two values", whole},
		"a list of other things": {set("two", "artifacts = '[1]'"), unreadableTwo, false, "two values", whole},
		"a time that is none":    {set("two", "started_at = 'noon'"), unreadableTwo, false, "two values", whole},
		"a parent that is no key": {
			set("leaf", "parent = 'two'"), "1 frame with a value that cannot be read: leaf", false, "leaf values", "leaf root .one .two",
		},
		"words that are lost": {
			"DELETE FROM frames_text WHERE rowid = " + key("two"), "1 frame missing from the index of words: two", false, "", whole,
		},
		"words of nothing": {
			"INSERT INTO frames_text (rowid, goal) VALUES (4711, 'word')", "1 frame only in the index of words: row 4711", false, "", whole,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, db := planted(t)
			assert.Contains(t, store.Check(context.Background(), dir)[0].What, "is sound: version 7, 4 frames")
			execute(t, db, tt.harm)
			harmed := store.Check(context.Background(), dir)
			assert.NotContains(t, harmed[0].What, "is sound")
			finding := findingOf(t, harmed, tt.found)
			assert.NotEqual(t, tt.note, finding.Broken)
			assert.Contains(t, finding.Hint, "flame doctor --repair")
			assert.NotEmpty(t, finding.Mend)

			done := repair(t, dir)
			assert.Equal(t, harmed[1:], store.Check(context.Background(), copyOf(t, done.Copy))[1:], "the copy is as it was")
			left := store.Check(context.Background(), dir)
			assert.Contains(t, left[0].What, "is sound: version 7, 4 frames", "%+v", left)
			assert.Empty(t, broken(left))
			assert.Empty(t, repair(t, dir), "there is nothing more to do")

			kept := open(t, dir, store.Options{})
			assert.Equal(t, tt.shape, storetest.Outlined(t, kept, project.FrameQuery{Archived: true}))
			assert.Len(t, strings.Fields(storetest.Found(t, kept, project.FrameQuery{Text: "word"})), 4, "all are found by their words")
			checkMendEvent(t, kept, tt.event)
		})
	}
}

// findingOf returns the finding that begins so.
func findingOf(t *testing.T, all []core.Finding, begins string) core.Finding {
	t.Helper()
	for _, f := range all {
		if strings.HasPrefix(f.What, begins) {
			return f
		}
	}
	require.Failf(t, "no such finding", "%q in %+v", begins, all)
	return core.Finding{}
}

// copyOf puts a copy of a database into a folder of its own, at the same path but for
// that.
func copyOf(t *testing.T, path string) (dir string) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	dir = filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flame.db"), raw, 0o600))
	return dir
}

func checkMendEvent(t *testing.T, kept project.Store, want string) {
	t.Helper()
	storetest.View(t, kept, func(tx project.Tx) {
		events, err := tx.FindEvents(project.EventQuery{Kinds: []string{core.FrameUpdated}})
		require.NoError(t, err)
		if want == "" {
			assert.Empty(t, events)
			return
		}
		var told []string
		for _, e := range events {
			assert.Equal(t, repairTime, e.TS)
			var data struct {
				Fields []string
				Reason string
			}
			require.NoError(t, json.Unmarshal(e.Data, &data))
			assert.Contains(t, data.Reason, "repaired: ")
			told = append(told, e.Frame+" "+data.Fields[0])
		}
		assert.Contains(t, told, want)
	})
}

func TestIndexesThatDoNotFitAreBuiltAnew(t *testing.T) {
	t.Parallel()
	dir, db := planted(t)
	// Rows are written while SQLite knows nothing of an index.
	execute(t, db, `CREATE TABLE aside AS SELECT * FROM sqlite_schema WHERE name = 'frames_parent';
		PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'frames_parent'`)
	execute(t, db, "UPDATE frames SET created_at = created_at + 1000 WHERE key = "+key("one"))
	execute(t, db, "PRAGMA writable_schema = 1; INSERT INTO sqlite_schema SELECT * FROM aside; DROP TABLE aside")
	harmed := store.Check(context.Background(), dir)
	assert.True(t, findingOf(t, harmed, "the indexes do not match the tables: ").Broken)
	assert.NotEmpty(t, repair(t, dir).Copy)
	assert.Contains(t, store.Check(context.Background(), dir)[0].What, "is sound")
	assert.Equal(t, "root .two ..leaf .one", storetest.Outlined(t, open(t, dir, store.Options{}), project.FrameQuery{}))
}

func TestUnrepairableDataStayUnchanged(t *testing.T) {
	t.Parallel()
	t.Run("damaged pages", func(t *testing.T) {
		t.Parallel()
		dir := filled(t)
		swapPages(t, filepath.Join(dir, "flame.db"), 20, 30)
		before := contents(t, dir)
		findings := store.Check(context.Background(), dir)
		require.Len(t, broken(findings), 1)
		assert.Contains(t, findings[0].What, "damaged")
		assert.Contains(t, findings[0].Hint, "put a backup in the place")
		assert.Empty(t, findings[0].Mend)
		assert.Empty(t, repair(t, dir))
		assert.Equal(t, before, contents(t, dir))
	})
	t.Run("no room for a copy", func(t *testing.T) {
		t.Parallel()
		dir, db := planted(t)
		execute(t, db, "UPDATE frames SET parent = key WHERE key = "+key("two"))
		before := contents(t, dir)
		stamp := repairTime.Time().Format("20060102T150405.000")
		// What stands in the way of the copy cannot be removed: it is not empty.
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "flame.db.before-repair-"+stamp, "in the way"), 0o700))
		_, err := store.Repairer{Now: func() core.Millis { return repairTime }}.Repair(context.Background(), dir)
		require.Error(t, err)
		assert.Equal(t, before, contents(t, dir))
	})
	t.Run("no data", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "data")
		assert.Empty(t, repair(t, dir))
		assert.NoDirExists(t, dir)
	})
}

// swapPages puts each of two pages of a database in the place of the other.
func swapPages(t *testing.T, db string, a, b int64) {
	t.Helper()
	const size = 4096
	file, err := os.OpenFile(db, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	pages := [2][size]byte{}
	for i, page := range []int64{a, b} {
		_, err := file.ReadAt(pages[i][:], (page-1)*size)
		require.NoError(t, err)
	}
	for i, page := range []int64{b, a} {
		_, err := file.WriteAt(pages[i][:], (page-1)*size)
		require.NoError(t, err)
	}
}

// TestAnyRowsCanBeMended writes nonsense into random rows, and mends it.
func TestAnyRowsCanBeMended(t *testing.T) {
	t.Parallel()
	ids := []string{"root", "one", "two", "leaf"}
	values := []string{
		"NULL", "''", "'x'", "-1", "0", "1", "3.5", "x'00ff'", "9223372036854775807", "'[1]'", "'{'", "'[\"a\"]'", "key", "key + 1", "key - 1", "4711",
	}
	columns := []string{
		"parent", "session", "status", "created_at", "started_at", "ended_at", "updated_at", "archived_at", "invalidated_at", "goal_is_default",
		"confidence", "tokens_in", "cost_usd", "tool_calls", "planned_children", "artifacts", "decisions", "goal", "summary", "key",
	}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			dir, path := planted(t)
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			for range 12 {
				id := ids[r.IntN(len(ids))]
				change := fmt.Sprintf("UPDATE OR IGNORE frames SET %s = %s WHERE key = %s",
					columns[r.IntN(len(columns))], values[r.IntN(len(values))], key(id))
				if r.IntN(6) == 0 {
					change = "UPDATE OR IGNORE ids SET id = '' WHERE id = '" + id + "'"
				}
				_, _ = db.Exec(change) // some are refused
			}
			require.NoError(t, db.Close())
			repair(t, dir)
			assert.Contains(t, store.Check(context.Background(), dir)[0].What, "is sound: version 7, 4 frames")
			kept := open(t, dir, store.Options{})
			storetest.View(t, kept, func(tx project.Tx) {
				frames, err := tx.FindFrames(project.FrameQuery{Archived: true})
				require.NoError(t, err)
				assert.Len(t, frames, 4)
			})
			assert.Len(t, strings.Fields(storetest.Outlined(t, kept, project.FrameQuery{Archived: true})), 4)
		})
	}
}
