package store

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/samber/lo"
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
	older := frameTable
	older.columns = lo.Reject(older.columns, func(c column[core.Frame], _ int) bool { return c.name == "machine" || c.name == "unpriced" })
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
		ids, err := project.RecordKind[core.Usage]("session.spent").IDs(tx, "")
		assert.Equal(t, []string{"s"}, ids)
		return err
	}))
	require.NoError(t, now.View(ctx, func(tx project.Tx) error {
		spent, err := project.RecordKind[core.Usage]("session.spent").Find(tx, "s")
		assert.Equal(t, core.Usage{TokensIn: 20, CostUSD: 1}, spent)
		return err
	}))
}

// Older flames invalidated in batches. Frames that they read as invalidated stay so.
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
			return nil
		}))
		return seen
	}
	assert.Equal(t, map[string]string{"end": "first", "two": "second", "one": "third"}, seen())
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

// Records that older flames kept by their kinds are parts of others now, or rows of tables. What
// cannot be read is in nobody's way, and goes.
func TestRecordsOfOlderFlamesAreTakenOver(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	old := openWith(t, dir, disk.Schema{Version: 10, Step: disk.NewestSchema.Step}, Options{})
	require.NoError(t, old.Update(ctx, func(x project.Tx) error {
		var errs []error
		for _, r := range [][3]string{
			{"presence", "s", `{"seen":7}`}, {"turns", "s", `{"x":"<&>"}`}, {"counted", "s", `"m"`}, {"presence", "other", `{}`},
			{"answered", "s", `{"count":1}`}, {"joined", "s", `{"n":2}`}, {"agent_tree", "s", `{"total":3}`},
			{"turn", "f", `"p"`}, {"activity", "f", `{"n":1}`},
			{"files_calls", "s", `{"n":1}`}, {"work", "s", `{"n":2}`}, {"compaction", "f", `{"type":"t"}`}, {"said", "f", `{"goal":"g"}`},
			{"settings", "off", `true`}, {"settings", "subagents", `{"enabled":false}`},
			{"stats", "subagents", `{"n":4}`}, {"shared_here", "", `5`}, {"left", "r", `"s"`},
			{"link", "h", `{"at":1}`}, {"requests", "h", `{"n":2}`}, {"taken", "x", `{"n":1}`}, {"agents_abroad", "m", `[]`},
			{"agent_assignment", "a", `{"task":"t"}`}, {"delegated", "a", `{"frame":"f"}`}, {"files", "f", `{"n":1}`}, {"files_patch", "f/1", `{"n":2}`},
			{"words", "s", `["w"]`}, {"suggestion_history", "", `[1]`}, {"inserted", "s", `{}`},
			{"agent", "a", `{"session":"as","parentSession":"s","parentAgent":"b","idempotencyKey":"k","endedAt":9}`},
			{"agent", "b", `{"subagent_id":"b","parent_session_id":"s","agent_type":"t","definition_digest":"d","permission_mode":{"effective":"plan"},
				"delegate_grants":["Bash"],"parent_tool_id":"call","idempotency_key":"old","result_schema":{"type":"object"},"artifact_hashes":{"a":"h"}}`},
			{"agent_session", "as", `"a"`}, {"agent_key", "s/k", `"a"`}, {"agent_recent", "a", `9`}, {"agent_child", "b/a", `{}`},
			{"handoff", "a", `{"parentSession":"s","transferControl":true}`},
			{"handoff", "b", `{"parent_session_id":"s","transfer_control":true,"on_failure":"retry","resolved":true}`},

			{"convergence", "c", `{"id":"c"}`}, {"convergence_open", "c", `{"person":"s","conflicts":2}`}, {"convergence", "d", `{"id":"d"}`},
			{"agent_grant", "g", `{"id":"g"}`}, {"agent_grant", "e", `{"expiresAt":5}`}, {"spawn", "t", `{"parent":"s"}`},
		} {
			_, err := x.(*tx).sql.exec("INSERT INTO records VALUES (?, ?, ?)", r[0], r[1], r[2])
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}))
	now := openWith(t, dir, disk.NewestSchema, Options{})
	dump := func(query string) (rows []string) {
		require.NoError(t, now.View(ctx, func(x project.Tx) (err error) {
			rows, err = collect(x.(*tx).sql, scanID, query)
			return err
		}))
		return rows
	}
	assert.Equal(t, []string{
		`answers s {"answered":{"count":1},"joined":{"n":2}}`, `assignment a {"task":{"task":"t"}}`,
		`calls s {"files":{"n":1},"work":{"n":2}}`, `delegated a {"frame":"f"}`,
		`files f {"n":1}`, `files f/1 {"n":2}`,
		`frame f {"activity":{"n":1},"turn":"p"}`, `host h {"link":{"at":1},"past":{"n":2}}`, `ledger s {}`, `machine m {"agents":[]}`,
		`project  {"here":5,"left":{"r":"s"},"off":true,"subagents":{"enabled":false},"subagents_stats":{"n":4}}`, `session other {"presence":{}}`,
		`session s {"agents":{"total":3},"counted":"m","presence":{"seen":7},"turns":{"x":"<&>"}}`, `source x {"taken":{"n":1}}`,
		`suggestion_history  [1]`, `summary f {"compaction":{"type":"t"},"said":{"goal":"g"}}`, `words s ["w"]`,
	}, lo.Map(dump("SELECT kind || ' ' || id || ' ' || value FROM records ORDER BY kind, id"), func(row string, _ int) string {
		var value any
		fields := strings.SplitN(row, " ", 3)
		require.NoError(t, json.Unmarshal([]byte(fields[2]), &value), row)
		sorted, err := jsonText(value)
		require.NoError(t, err)
		return strings.Join(append(fields[:2], sorted), " ")
	}))
	assert.Equal(t, []string{"a as s b k 9", "b - s - old -"}, dump(`SELECT
		concat_ws(' ', id, coalesce(session, '-'), parent_session, coalesce(parent_agent, '-'), key, coalesce(ended_at, '-')) FROM agents ORDER BY id`))
	assert.JSONEq(t, `{"subagent_id":"b","parentSession":"s","agentType":"t","definitionDigest":"d","permissionMode":{"effective":"plan"},
		"delegateGrants":["Bash"],"callId":"call","idempotencyKey":"old","resultSchema":{"type":"object"},"artifactHashes":{"a":"h"}}`,
		dump("SELECT value FROM agents WHERE id = 'b'")[0])
	assert.JSONEq(t, `{"parentSession":"s","transferControl":true,"onFailure":"retry","resolved":true}`, dump("SELECT value FROM handoffs WHERE id = 'b'")[0])
	assert.Equal(t, []string{"a s", "b "}, dump("SELECT id || ' ' || coalesce(waiting, '') FROM handoffs ORDER BY id"))
	assert.Equal(t, []string{"c 2 s", "d - -"},
		dump("SELECT concat_ws(' ', id, coalesce(open, '-'), coalesce(value ->> 'person', '-')) FROM convergences ORDER BY id"))
	assert.Equal(t, []string{"e 5", "g 9223372036854775807"}, dump("SELECT id || ' ' || ends_at FROM grants ORDER BY id"))
	assert.Equal(t, []string{"t s"}, dump("SELECT id || ' ' || parent FROM spawns"))
	assert.FileExists(t, filepath.Join(dir, "flame.db.backup-10"))
	assert.ErrorIs(t, hasFrame(openWith(t, dir, disk.Schema{Version: 10, Step: disk.NewestSchema.Step}, Options{}), "f"), disk.ErrNewer)
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
