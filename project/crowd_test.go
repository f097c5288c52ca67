package project_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
)

// plantMany makes frames by SQL, a thousand times as fast as one after the other:
// root, and below it so many planned ones by the rule for their parents' numbers.
// Frame i has the id plan-<i, 8 digits>; root is 0.
func plantMany(t testing.TB, dir string, frames int, parent string) {
	t.Helper()
	p := openProject(t, dir)
	require.NoError(t, p.Store.Update(context.Background(), func(tx project.Tx) error { return nil }))
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "flame.db"))
	require.NoError(t, err)
	defer db.Close()
	for _, statement := range []string{
		`CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) SELECT i FROM n`,
		`INSERT INTO ids (key, id) SELECT i + 1, printf('plan-%08d', i) FROM n`,
		`INSERT INTO frames SELECT i + 1, CASE WHEN i > 0 THEN (` + parent + `) + 1 END, NULL, 'planned', i, 0, 0, i, 0, 0, '', 0, NULL,
			0, 0, 0, 0, 0, 0, '', '[]', 'part ' || i, '', '[]', '[]', '', '' FROM n`,
	} {
		_, err := db.Exec(statement, frames)
		require.NoError(t, err)
	}
}

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

func TestScratchCrowd(t *testing.T) {
	const writers = 8
	for name, parent := range map[string]string{"flat": "0", "chain": "i - 1", "bushy": "(i - 1) / 10"} {
		t.Run(name, func(t *testing.T) {
			n := 100_000
			if name == "chain" {
				n = 10_000
			}
			dir := t.TempDir()
			began := time.Now()
			plantMany(t, dir, n, parent)
			fmt.Println(name, "planted", time.Since(began))
			var all []*project.Project
			for range writers {
				all = append(all, openProject(t, dir))
			}
			load := func(stop <-chan struct{}) []time.Duration {
				var took [writers][]time.Duration
				var wg sync.WaitGroup
				for i, p := range all {
					wg.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							began := time.Now()
							_, err := p.Push(context.Background(), host(fmt.Sprint("s", i)), "goal", "")
							took[i] = append(took[i], time.Since(began))
							require.NoError(t, err)
						}
					})
				}
				wg.Wait()
				return slices.Sorted(slices.Values(slices.Concat(took[:]...)))
			}
			stop := make(chan struct{})
			time.AfterFunc(3*time.Second, func() { close(stop) })
			took := load(stop)
			fmt.Println(name, "alone", len(took), "p50", took[len(took)/2], "p99", took[len(took)*99/100], "worst", took[len(took)-1])
			p := openProject(t, dir)
			timed := &timedStore{Store: p.Store}
			p.Store = timed
			stop = make(chan struct{})
			go func() {
				began := time.Now()
				done, err := p.Invalidate(context.Background(), shell, "plan-00000000", "gone")
				fmt.Println(name, "cascade", time.Since(began), err, done.Planned.Count, done.InProgress.Count)
				close(stop)
			}()
			took = load(stop)
			slices.Sort(timed.inside)
			slices.Sort(timed.after)
			k := len(timed.inside)
			fmt.Println(name, "batches", k, "inside p50", timed.inside[k/2], "p90", timed.inside[k*9/10], "worst", timed.inside[k-1], "after p50", timed.after[k/2], "p90", timed.after[k*9/10], "worst", timed.after[k-1])
			fmt.Println(name, "beside", len(took), "p50", took[len(took)/2], "p99", took[len(took)*99/100], "worst", took[len(took)-1])
		})
	}
}

type timedStore struct {
	project.Store
	inside, after []time.Duration
}

func (s *timedStore) Update(ctx context.Context, f func(project.Tx) error) error {
	var left time.Time
	err := s.Store.Update(ctx, func(tx project.Tx) error {
		began := time.Now()
		err := f(tx)
		left = time.Now()
		s.inside = append(s.inside, time.Since(began))
		return err
	})
	s.after = append(s.after, time.Since(left))
	return err
}
