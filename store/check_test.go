package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/cases"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	check := func() string { return fmt.Sprintf("%+v", store.Check(context.Background(), dir)) }

	assert.Contains(t, check(), "no data yet")
	assert.NoDirExists(t, dir, "looking makes nothing")

	kept := open(t, dir, store.Options{LongLived: true})
	fill(t, kept, 300)
	assert.Regexp(t, `is sound: version \d+, frames: 300, events: 0`, check())
	assert.Empty(t, broken(store.Check(context.Background(), dir)))
	storetest.Save(t, kept, core.Frame{ID: "goes on"})

	require.NoError(t, os.Chmod(dir, 0o755))
	assert.Contains(t, check(), "chmod 700 "+dir)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "flame.db.backup-1"), nil, 0o600))
	assert.Contains(t, check(), "copy from before a migration")

	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	assert.NotEmpty(t, broken(store.Check(context.Background(), dir)), "a file in the place of the folder")
}

func TestReadingMakesNothing(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for _, opts := range []store.Options{{}, {LongLived: true}} {
		kept := store.Open(filepath.Join(parent, "a", "data"), opts)
		assert.Empty(t, storetest.Found(t, kept, project.FrameQuery{}))
		require.NoError(t, kept.Run(context.Background(), func(tx project.Tx) error { _, _, err := tx.Revision(); return err }))
		require.NoError(t, kept.Close())
	}
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestAnyNameOfAFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for _, name := range []string{"with space", "100%", "what?", "a#b", "a&b=c", "ünï", `back\slash`, "'q\""} {
		dir := filepath.Join(parent, name)
		kept := store.Open(dir, store.Options{})
		storetest.Save(t, kept, core.Frame{ID: "f-1"})
		require.NoError(t, kept.Close())
		assert.FileExists(t, filepath.Join(dir, "flame.db"))
		assertSound(t, dir)
	}
}

func TestRelativeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	kept := open(t, ".flame", store.Options{})
	storetest.Save(t, kept, core.Frame{ID: "f-1"})
	assert.FileExists(t, ".flame/flame.db")
	assertSound(t, ".flame")
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	for _, opts := range []store.Options{{}, {LongLived: true}} {
		kept := store.Open(filepath.Join(t.TempDir(), "data"), opts)
		storetest.Save(t, kept, core.Frame{ID: "f-1"})
		require.NoError(t, kept.Close())
		require.NoError(t, kept.Close())
		assert.Error(t, kept.View(context.Background(), func(project.Tx) error { return nil }))
		assert.Error(t, kept.Update(context.Background(), func(project.Tx) error { return nil }))
	}
}

// planted makes a project with a small tree and a session, closed, and returns its folder and
// database.
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

// anyRows lets a program write rows that break the constraints.
const anyRows = "PRAGMA ignore_check_constraints = 1;"

func TestRowsThatCannotBeAreRefusedNamedAndRead(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		Harm    string // SQL
		Found   string // what the finding begins with
		Refused bool   // by a constraint
		Note    bool
	}](t, "testdata/rows.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, path := planted(t)
			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			db.SetMaxOpenConns(1) // the pragma is its connection's
			_, err = db.Exec("SAVEPOINT harm; " + tt.Harm)
			assert.Equal(t, tt.Refused, err != nil, "%v", err)
			_, err = db.Exec("ROLLBACK TO harm; RELEASE harm; " + anyRows + tt.Harm)
			require.NoError(t, errors.Join(err, db.Close()))
			findings := store.Check(context.Background(), dir)
			if tt.Found == "" {
				assert.Empty(t, broken(findings))
			} else {
				at := slices.IndexFunc(findings, func(f core.Finding) bool { return strings.HasPrefix(f.What, tt.Found) })
				require.GreaterOrEqual(t, at, 0, "%+v", findings)
				assert.NotEqual(t, tt.Note, findings[at].Broken)
				assert.Contains(t, findings[at].Hint, "flame export")
				assert.NotContains(t, findings[0].What, "is sound")
			}
			readAll(t, open(t, dir, store.Options{}))
		})
	}
}

// readAll reads the four frames in every way, and writes them.
func readAll(t *testing.T, kept project.Store) {
	t.Helper()
	storetest.Update(t, kept, func(tx project.Tx) {
		all, err := tx.FindFrames(project.FrameQuery{Archived: true})
		require.NoError(t, err)
		require.Len(t, all, 4)
		links, err := tx.Links(project.FrameQuery{Archived: true})
		require.NoError(t, err)
		require.Len(t, links, 4)
		require.NoError(t, project.EachFrame(tx, links, func(core.Frame) error { return nil }))
		changed, err := tx.FramesChangedSince(0)
		require.NoError(t, err)
		require.Len(t, changed, 4)
		for _, order := range []project.FrameOrder{project.NewestFirst, project.RecentFirst, project.ByID} {
			_, err := tx.FindFrames(project.FrameQuery{Order: order, Statuses: core.Statuses})
			require.NoError(t, err)
		}
		for _, f := range all {
			if f.ID == "" {
				continue
			}
			_, err := tx.Ancestors(f.ID, 0)
			require.NoError(t, err)
			_, err = tx.Surroundings(f.ID, project.RelativesLimit{Ancestors: 10, Near: 10, Uncles: 10, Tiers: 3})
			require.NoError(t, err)
			_, err = tx.Outcomes(project.OutcomeQuery{All: f.ID, Each: 10, Limit: 100})
			require.NoError(t, err)
			_, whole, err := tx.UsageUnder(f.ID, 10)
			require.NoError(t, err)
			assert.True(t, whole)
			_, err = tx.CountFrames(project.FrameQuery{Under: f.ID})
			require.NoError(t, err)
		}
		pages := 0
		for last := all[0].ID; last != ""; pages++ {
			page, err := tx.FindFrames(project.FrameQuery{Archived: true, After: last, Limit: 1})
			require.NoError(t, err)
			if last = ""; len(page) > 0 {
				last = page[0].ID
			}
		}
		assert.LessOrEqual(t, pages, 4)
		_, err = tx.InvalidateBelow("root", core.Cascade{Reason: "gone", At: 9}, core.Event{Event: core.FrameInvalidated})
		require.NoError(t, err)
		for _, f := range all {
			if f.ID != "" && f.Status.Valid() {
				require.NoError(t, tx.SaveFrame(f))
			}
		}
	})
}

func TestIndexesThatDoNotFitAreNamed(t *testing.T) {
	t.Parallel()
	dir, db := planted(t)
	// Rows are written while SQLite knows nothing of an index.
	execute(t, db, `CREATE TABLE aside AS SELECT * FROM sqlite_schema WHERE name = 'frames_parent';
		PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'frames_parent'`)
	execute(t, db, "UPDATE frames SET created_at = created_at + 1000 WHERE goal = 'word one'")
	execute(t, db, "PRAGMA writable_schema = 1; INSERT INTO sqlite_schema SELECT * FROM aside; DROP TABLE aside")
	harmed := broken(store.Check(context.Background(), dir))
	require.Len(t, harmed, 1)
	assert.Contains(t, harmed[0].What, "the indexes do not match the tables: ")
	assert.Contains(t, harmed[0].Hint, "REINDEX")
	execute(t, db, "REINDEX")
	assert.Empty(t, broken(store.Check(context.Background(), dir)))
}

func TestADeletedFrameIsNotNamedBySessions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	kept := open(t, dir, store.Options{})
	storetest.Update(t, kept, func(tx project.Tx) {
		require.NoError(t, tx.SaveFrame(core.Frame{ID: "f-1", Status: core.Completed, Session: "s-1"}))
		require.NoError(t, tx.SaveFrame(core.Frame{ID: "f-2", Status: core.Completed, Session: "s-2"}))
		for i, session := range []string{"s-1", "s-2", "s-3"} {
			root := []string{"f-1", "f-2", "f-2"}[i]
			require.NoError(t, tx.SaveSession(core.Session{ID: session, Root: root, Current: "f-1"}))
		}
		require.NoError(t, tx.DeleteFrame("f-1"))
	})
	storetest.View(t, kept, func(tx project.Tx) {
		for session, root := range map[string]string{"s-1": "", "s-2": "f-2", "s-3": "f-2"} {
			got, err := tx.Session(session)
			require.NoError(t, err)
			assert.Equal(t, root, got.Root, session)
			assert.Empty(t, got.Current, session)
		}
	})
	assert.Contains(t, store.Check(context.Background(), dir)[0].What, "is sound")
}
