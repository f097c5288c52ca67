package stack_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/store"
	"flame/tests/projecttest"
)

// plantByRule makes n planned frames by SQL, a thousand times as fast as one after the
// other. Frame i is plan-<i in 8 digits>; parent is the SQL for the number of its
// parent, NULL for a root.
func plantByRule(t testing.TB, dir string, n int, parent string) {
	t.Helper()
	p := openProject(t, dir)
	require.NoError(t, p.Store.Update(context.Background(), func(project.Tx) error { return nil }))
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "flame.db"))
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1) // the temporary table is its connection's
	for _, statement := range []string{
		`CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?1) SELECT i FROM n`,
		`INSERT INTO ids (key, id) SELECT i + 1, printf('plan-%08d', i) FROM n`,
		`INSERT INTO frames SELECT i + 1, (` + parent + `) + 1, NULL, 'planned', i, 0, 0, i, 0, 0, '', 0, NULL,
			0, 0, 0, 0, 0, 0, '', '[]', 'part ' || i, '', '[]', '[]', '', '', 0, '', 0 FROM n`,
	} {
		_, err := db.Exec(statement, n)
		require.NoError(t, err)
	}
}

// plantedByRule returns the id of frame i.
func plantedByRule(i int) string { return fmt.Sprintf("plan-%08d", i) }

// openProject opens the project in dir as another process would.
func openProject(t testing.TB, dir string) *project.Project {
	t.Helper()
	kept := store.Open(dir, store.Options{LongLived: true})
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	return &project.Project{
		Store: kept, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(),
		Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(), EventDays: 90,
		Now: func() core.Millis { return core.MillisOf(time.Now()) }, NewID: project.NewID,
	}
}

func TestInvalidationsOfAnyShape(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		n      int
		parent string // SQL for the number of the parent of frame i
		harm   string // SQL that harms the rows
	}{
		"very many below one frame": {n: 20_000, parent: "CASE WHEN i > 0 THEN 0 END"},
		"a deep chain":              {n: 10_000, parent: "CASE WHEN i > 0 THEN i - 1 END"},
		"a cycle":                   {n: 500, parent: "CASE WHEN i > 0 THEN i - 1 END", harm: "UPDATE frames SET parent = 400 WHERE key = 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plantByRule(t, dir, tt.n, tt.parent)
			db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "flame.db"))
			require.NoError(t, err)
			_, err = db.Exec(tt.harm)
			require.NoError(t, errors.Join(err, db.Close()))
			p := openProject(t, dir)
			done, err := stack.Invalidate(context.Background(), p, projecttest.Shell, plantedByRule(0), "gone")
			require.NoError(t, err)
			assert.Equal(t, tt.n-1, done.Planned.Count)
			assert.Equal(t, plantedByRule(1), done.Planned.First[0].ID)
			stats, err := view.StatsOf(context.Background(), p)
			require.NoError(t, err)
			assert.Equal(t, map[core.Status]int{core.Invalidated: tt.n}, stats.Frames)
		})
	}
}

// One process plans and pushes below frames that another invalidates.
func TestAnInvalidationAmongOthersThatWorkBelowIt(t *testing.T) {
	t.Parallel()
	const n = 400
	dir := t.TempDir()
	plantByRule(t, dir, n, "CASE WHEN i > 0 THEN (i - 1) / 5 END")
	ctx, p, other := context.Background(), openProject(t, dir), openProject(t, dir)
	var both sync.WaitGroup
	both.Go(func() {
		for i := range n {
			by := projecttest.Host(fmt.Sprint("session ", i))
			_, _ = stack.Plan(ctx, other, by, plantedByRule(n-1-i), []stack.PlannedChild{{Goal: "more"}}) // some are refused
			if _, err := stack.Activate(ctx, other, by, plantedByRule(n-1-i), true); err == nil {
				_, err := stack.Push(ctx, other, by, "work", "")
				assert.NoError(t, err)
			}
		}
	})
	for i := 20; i >= 0; i-- {
		_, err := stack.Invalidate(ctx, p, projecttest.Host("s"), plantedByRule(i), "gone")
		assert.NoError(t, err)
	}
	both.Wait()
	frames, err := view.Frames(ctx, p, project.FrameQuery{Under: plantedByRule(0), Archived: true})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(frames), n)
	for _, f := range frames {
		assert.NotEqual(t, core.Planned, f.Status, f.ID)
	}
}
