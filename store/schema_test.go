package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store/disk"
)

// next is a schema one version on, whose last step is as given.
func next(step string) disk.Schema {
	return disk.Schema{Version: disk.NewestSchema.Version + 1, Step: func(version int) (string, error) {
		if version > disk.NewestSchema.Version {
			return step, nil
		}
		return disk.NewestSchema.Step(version)
	}}
}

func openWith(t testing.TB, dir string, s disk.Schema, opts Options) *Store {
	t.Helper()
	kept := Open(dir, opts)
	kept.schema = s
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	return kept
}

func saveOne(kept *Store, id string) error {
	return kept.Update(context.Background(), func(tx project.Tx) error {
		return tx.SaveFrame(core.Frame{ID: id, Status: core.Planned})
	})
}

// saveAsOlder saves a frame as flames did that knew nothing of revisions in rows, or of
// other machines.
func saveAsOlder(kept *Store, id string) error {
	return kept.Update(context.Background(), func(tx project.Tx) error {
		return asOlder(tx, core.Frame{ID: id, Status: core.Planned})
	})
}

func asOlder(ptx project.Tx, f core.Frame) error {
	x := ptx.(*tx)
	older := table[core.Frame]{frameTable.name, frameTable.key, frameTable.but("machine", "unpriced")}
	values, err := older.values(x.sql, &f)
	if err != nil {
		return err
	}
	if _, err := x.sql.exec(older.save(), values...); err != nil {
		return err
	}
	_, err = x.sql.exec(`UPDATE meta SET value = value + 1 WHERE name = 'revision'`)
	return err
}

func hasFrame(kept *Store, id string) error {
	return kept.View(context.Background(), func(tx project.Tx) error {
		_, err := tx.Frame(id)
		return err
	})
}

func TestMigration(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(kept *Store, id string) error{
		"by the first View": hasFrame, "by the first Update": saveOne,
	} {
		for kind, opts := range map[string]Options{"short process": {}, "server": {LongLived: true}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				old := openWith(t, dir, disk.NewestSchema, opts) // goes on running
				require.NoError(t, saveOne(old, "f-old"))

				upgraded := openWith(t, dir, next("ALTER TABLE frames ADD COLUMN mood TEXT"), opts)
				require.NoError(t, first(upgraded, "f-old"))
				require.NoError(t, saveOne(upgraded, "f-new"))

				require.NoError(t, hasFrame(old, "f-new"), "an older binary goes on")
				require.NoError(t, saveOne(old, "f-older"))
				require.NoError(t, hasFrame(upgraded, "f-older"))

				backup := openWith(t, t.TempDir(), disk.NewestSchema, opts)
				require.NoError(t, os.Rename(filepath.Join(dir, "flame.db.backup-"+strconv.Itoa(disk.NewestSchema.Version)), backup.path()))
				require.NoError(t, hasFrame(backup, "f-old"), "the file as it was is beside it")
			})
		}
	}
}

// TestEveryVersionIsBroughtUpToDate guards what users have: a file of each version
// that ever was, with something in it.
func TestEveryVersionIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	for version := 1; version < disk.NewestSchema.Version; version++ {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			old := openWith(t, dir, disk.Schema{Version: version, Step: disk.NewestSchema.Step}, Options{})
			require.NoError(t, saveAsOlder(old, "f-old"))
			now := openWith(t, dir, disk.NewestSchema, Options{})
			require.NoError(t, hasFrame(now, "f-old"))
			require.NoError(t, now.View(context.Background(), func(tx project.Tx) error {
				_, err := tx.FindEvents(project.EventQuery{Below: "s"})
				return err
			}))
			require.NoError(t, saveAsOlder(old, "f-older"), "an older binary goes on")
		})
	}
}

// TestWhatSessionsSpentIsTakenOver counts a tree for the first session that began there: older
// flames did not know who spent what in it.
func TestWhatSessionsSpentIsTakenOver(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	old := openWith(t, dir, disk.Schema{Version: 9, Step: disk.NewestSchema.Step}, Options{})
	require.NoError(t, old.Update(ctx, func(tx project.Tx) error {
		spent := core.Usage{TokensIn: 10, CostUSD: 0.5}
		return errors.Join(
			tx.SaveSession(core.Session{ID: "s", Root: "top", CreatedAt: 1}), tx.SaveSession(core.Session{ID: "later", Root: "top", CreatedAt: 2}),
			tx.SaveSession(core.Session{ID: "child", Parent: "s", Root: "in"}), tx.SaveSession(core.Session{ID: "idle"}),
			tx.SaveFrame(core.Frame{ID: "top", Status: core.InProgress, Usage: spent}),
			tx.SaveFrame(core.Frame{ID: "in", Parent: "top", Status: core.Completed, Usage: spent}),
		)
	}))
	now := openWith(t, dir, disk.NewestSchema, Options{})
	require.NoError(t, now.View(ctx, func(tx project.Tx) error {
		ids, err := project.RecordKind[core.Usage]("spent").IDs(tx, "")
		assert.Equal(t, []string{"s"}, ids)
		return err
	}))
	require.NoError(t, now.View(ctx, func(tx project.Tx) error {
		spent, err := project.RecordKind[core.Usage]("spent").Find(tx, "s")
		assert.Equal(t, core.Usage{TokensIn: 20, CostUSD: 1}, spent)
		return err
	}))
}

// Older flames invalidated in batches. Frames that they read as invalidated stay so, also if
// such a flame still runs.
func TestCascadesOfOlderFlamesAreCompleted(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	begin := func(kept *Store, frame, reason string, at, seq int) {
		t.Helper()
		require.NoError(t, kept.Update(ctx, func(ptx project.Tx) error {
			_, err := ptx.(*tx).sql.exec("INSERT INTO cascades (frame, session, at, reason, due, settled, seq, reached) VALUES ("+
				keyOf+", "+keyOf+", ?, ?, 0, 0, ?, 0)", frame, "s", at, reason, seq)
			return err
		}))
	}
	old := openWith(t, dir, disk.Schema{Version: 7, Step: disk.NewestSchema.Step}, Options{})
	require.NoError(t, old.Update(ctx, func(tx project.Tx) error {
		require.NoError(t, tx.SaveSession(core.Session{ID: "s", Host: "opencode", Parent: "above"}))
		for id, parent := range map[string]string{"top": "", "one": "cycle", "in": "top", "two": "in", "end": "two", "beside": "", "late": "beside", "cycle": "one"} {
			f := core.Frame{ID: id, Parent: parent, Status: core.Planned}
			if id == "in" {
				f.Status = core.InProgress
			}
			require.NoError(t, asOlder(tx, f))
		}
		return nil
	}))
	begin(old, "top", "second", 7, 2)
	begin(old, "two", "first", 5, 1)
	begin(old, "cycle", "third", 9, 3)
	now := openWith(t, dir, disk.NewestSchema, Options{})
	seen := func() map[string]string {
		seen := map[string]string{}
		require.NoError(t, now.View(ctx, func(ptx project.Tx) error {
			x := ptx.(*tx)
			frames, err := x.FindFrames(project.FrameQuery{Statuses: []core.Status{core.Invalidated}})
			require.NoError(t, err)
			for _, f := range frames {
				events, err := x.FindEvents(project.EventQuery{Frame: f.ID})
				require.NoError(t, err)
				require.Len(t, events, 1)
				assert.Equal(t, core.Event{V: core.EventVersion, Seq: events[0].Seq, TS: f.InvalidatedAt, Event: core.FrameInvalidated, Frame: f.ID,
					Session: "s", ParentSession: "above", Host: "opencode", Data: []byte(`{"reason":"` + f.InvalidationReason + `"}`)}, events[0])
				assert.Equal(t, []core.Millis{f.InvalidatedAt, f.InvalidatedAt}, []core.Millis{f.EndedAt, f.UpdatedAt})
				seen[f.ID] = f.InvalidationReason
			}
			left, err := collect(x.sql, scanKey, "SELECT frame FROM cascades")
			assert.Empty(t, left)
			return err
		}))
		return seen
	}
	assert.Equal(t, map[string]string{"end": "first", "two": "second", "one": "third"}, seen())
	begin(old, "beside", "now", 11, 1)
	assert.Equal(t, map[string]string{"end": "first", "two": "second", "one": "third", "late": "now"}, seen())
}

// A constraint that rows of an older database break is left out, so that the others can be
// added.
func TestBadRowsOfAnOlderDatabaseStay(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	set := func(kept *Store, change string) error {
		return kept.Update(ctx, func(ptx project.Tx) error {
			_, err := ptx.(*tx).sql.exec("UPDATE frames SET " + change)
			return err
		})
	}
	old := openWith(t, dir, disk.Schema{Version: 7, Step: disk.NewestSchema.Step}, Options{})
	require.NoError(t, saveAsOlder(old, "f-1"))
	require.NoError(t, set(old, "status = 'odd'"))
	now := openWith(t, dir, disk.NewestSchema, Options{})
	require.NoError(t, hasFrame(now, "f-1"))
	require.NoError(t, set(now, "status = 'odder'"))
	require.Error(t, set(now, "created_at = 'noon'"))
	require.Error(t, set(old, "created_at = 'noon'"), "an older binary keeps to them too")
	require.NoError(t, saveAsOlder(old, "f-1"))
}

// A flame that does not stamp frames may write before others that do, and between them.
// Whoever asks for changes then gets all frames, once.
func TestChangesByOlderFlamesAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := openWith(t, dir, disk.Schema{Version: 5, Step: disk.NewestSchema.Step}, Options{})
	for _, id := range []string{"f-1", "f-2", "f-3"} {
		require.NoError(t, saveAsOlder(old, id))
	}
	now := openWith(t, dir, disk.NewestSchema, Options{})
	var at []int64 // the revisions after each step, the first before all
	for _, step := range []struct {
		save  func(*Store, string) error
		by    *Store
		frame string
		want  []int // frames that changed after each of at
	}{
		{saveOne, now, "f-1", []int{1}},
		{saveAsOlder, old, "f-2", []int{3, 3}},
		{saveAsOlder, old, "f-2", []int{3, 3, 3}},
		{saveOne, now, "f-3", []int{3, 3, 3, 1}},
		{saveOne, now, "f-1", []int{3, 3, 3, 2, 1}},
	} {
		require.NoError(t, now.View(context.Background(), func(tx project.Tx) error {
			revision, _, err := tx.Revision()
			at = append(at, revision)
			return err
		}))
		require.NoError(t, step.save(step.by, step.frame))
		require.NoError(t, now.View(context.Background(), func(tx project.Tx) error {
			var got []int
			for _, revision := range append(at, at[len(at)-1]+1) {
				frames, err := tx.FramesChangedSince(revision)
				require.NoError(t, err)
				got = append(got, len(frames))
			}
			assert.Equal(t, append(step.want, 0), got)
			return nil
		}))
	}
	require.NoError(t, now.View(context.Background(), func(tx project.Tx) error {
		all, err := tx.FramesChangedSince(at[0] - 1)
		assert.Len(t, all, 3, "what was before the stamps")
		return err
	}))
}

// Spawns that were kept before there was an index of them are found by it, and so are
// those that an older flame keeps later. One that cannot be read is in nobody's way.
func TestSpawnsOfOlderFlamesAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := openWith(t, dir, disk.Schema{Version: 3, Step: disk.NewestSchema.Step}, Options{})
	spawn := func(kept *Store, id string) error {
		return kept.Update(context.Background(), func(tx project.Tx) error {
			return tx.SaveRecord("spawn", id, map[string]string{"parent": "s"})
		})
	}
	require.NoError(t, spawn(old, "before"))
	require.NoError(t, old.Update(context.Background(), func(x project.Tx) error {
		_, err := x.(*tx).sql.exec(saveRecord, "spawn", "damaged", `{"parent": "s`)
		return err
	}))
	now := openWith(t, dir, disk.NewestSchema, Options{})
	require.NoError(t, spawn(now, "now"))
	require.NoError(t, spawn(old, "then"))
	require.NoError(t, now.View(context.Background(), func(tx project.Tx) error {
		ids, err := tx.RecordsOf("spawn", "s")
		assert.Equal(t, []string{"before", "now", "then"}, ids)
		return err
	}))
}

func TestMigrationThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := openWith(t, dir, disk.NewestSchema, Options{})
	require.NoError(t, saveOne(old, "f-old"))
	upgraded := openWith(t, dir, next("ALTER TABLE frames ADD COLUMN mood TEXT; UPDATE missing SET x = 1"), Options{})
	for range 2 {
		require.Error(t, hasFrame(upgraded, "f-old"))
	}
	require.NoError(t, hasFrame(old, "f-old"))
	fixed := openWith(t, dir, next("ALTER TABLE frames ADD COLUMN mood TEXT"), Options{})
	require.NoError(t, hasFrame(fixed, "f-old"))
}

// A server under constant writing works its log in beside the writes, and ends
// the log's growth.
func TestKeeperBoundsTheLog(t *testing.T) {
	t.Parallel()
	const updates, pages, pageSize = 600, 25, 4096
	kept := Open(t.TempDir(), Options{LongLived: true})
	text := strings.Repeat("x", pages*pageSize)
	for i := range updates {
		require.NoError(t, kept.Update(context.Background(), func(tx project.Tx) error {
			return tx.SaveRecord("kind", strconv.Itoa(i%10), text)
		}))
	}
	log := disk.Size(kept.path() + "-wal")
	assert.Positive(t, log)
	assert.Less(t, log, int64(updates*pages*pageSize/2))
	require.NoError(t, kept.Close())
	assert.Zero(t, disk.Size(kept.path()+"-wal"), "closing leaves nothing in the log")
}
