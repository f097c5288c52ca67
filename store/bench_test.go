package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/storetest"
)

// onTrees runs a benchmark on trees of the sizes of DESIGN §10.
func onTrees(b *testing.B, run func(b *testing.B, dir string)) {
	for _, n := range []int{100, 10_000, 100_000} {
		dir := filepath.Join(b.TempDir(), "data")
		kept := store.Open(dir, store.Options{})
		grow(b, kept, n)
		require.NoError(b, kept.Close())
		b.Run(fmt.Sprintf("%d frames", n), func(b *testing.B) { run(b, dir) })
	}
}

// grow saves n frames, eight children to each.
func grow(b *testing.B, kept project.Store, n int) {
	b.Helper()
	const batch = 2000
	for from := 0; from < n; from += batch {
		storetest.Update(b, kept, func(tx project.Tx) {
			for i := from; i < min(n, from+batch); i++ {
				f := core.Frame{
					ID: fmt.Sprintf("frame-%d", i), Status: core.Statuses[i%len(core.Statuses)],
					Goal: fmt.Sprintf("implement part %d of the parser", i), Summary: "what was done and why",
					CreatedAt: core.Millis(i), UpdatedAt: core.Millis(i),
				}
				if i > 0 {
					f.Parent = fmt.Sprintf("frame-%d", (i-1)/8)
				}
				require.NoError(b, tx.SaveFrame(f))
			}
		})
	}
}

const benchFrame = "frame-50"

// decide adds a decision to a frame, as `flame decision` does.
func decide(text string) func(project.Tx) error {
	return func(tx project.Tx) error {
		f, err := tx.Frame(benchFrame)
		if err != nil {
			return err
		}
		f.Decisions = []string{text}
		if err := tx.SaveFrame(f); err != nil {
			return err
		}
		_, err = tx.AppendEvent(core.Event{Event: core.FrameUpdated, Frame: f.ID, Session: "session"})
		return err
	}
}

func BenchmarkOpenAndRead(b *testing.B) {
	onTrees(b, func(b *testing.B, dir string) {
		for b.Loop() {
			kept := store.Open(dir, store.Options{})
			storetest.View(b, kept, func(tx project.Tx) {
				_, err := tx.Frame(benchFrame)
				require.NoError(b, err)
			})
			require.NoError(b, kept.Close())
		}
	})
}

func BenchmarkOpenAndWrite(b *testing.B) {
	onTrees(b, func(b *testing.B, dir string) {
		for b.Loop() {
			kept := store.Open(dir, store.Options{})
			require.NoError(b, kept.Update(context.Background(), decide("open")))
			require.NoError(b, kept.Close())
		}
	})
}

// BenchmarkUpdate is a durable write in a running server, beside the time of
// syncing 4 KB to the same disk.
func BenchmarkUpdate(b *testing.B) {
	onTrees(b, func(b *testing.B, dir string) {
		kept := open(b, dir, store.Options{LongLived: true})
		var times []time.Duration
		for i := 0; b.Loop(); i++ {
			begun := time.Now()
			require.NoError(b, kept.Update(context.Background(), decide(fmt.Sprint("number ", i))))
			times = append(times, time.Since(begun))
		}
		b.ReportMetric(percentile(times, 99), "p99-ms")
		b.ReportMetric(percentile(syncs(b, dir, 500), 99), "fsync-p99-ms")
	})
}

func syncs(b *testing.B, dir string, n int) (times []time.Duration) {
	file, err := os.Create(filepath.Join(dir, "synced"))
	require.NoError(b, err)
	defer file.Close()
	for range n {
		begun := time.Now()
		_, err := file.Write(make([]byte, 4096))
		require.NoError(b, err)
		require.NoError(b, file.Sync())
		times = append(times, time.Since(begun))
	}
	return times
}

// percentile returns the p-th percentile in milliseconds.
func percentile(times []time.Duration, p int) float64 {
	slices.Sort(times)
	return float64(times[(len(times)-1)*p/100].Microseconds()) / 1000
}

// BenchmarkSurroundings reads what a context is made of.
func BenchmarkSurroundings(b *testing.B) {
	onTrees(b, func(b *testing.B, dir string) {
		kept := open(b, dir, store.Options{LongLived: true})
		for b.Loop() {
			storetest.View(b, kept, func(tx project.Tx) {
				f, err := tx.Frame(benchFrame)
				require.NoError(b, err)
				_, err = tx.Surroundings(f.ID, project.Most{Ancestors: 200, Near: 20, Uncles: 5, Tiers: 3})
				require.NoError(b, err)
			})
		}
	})
}

func BenchmarkQueries(b *testing.B) {
	onTrees(b, func(b *testing.B, dir string) {
		kept := open(b, dir, store.Options{LongLived: true})
		for name, read := range map[string]func(tx project.Tx) error{
			"count": func(tx project.Tx) error { _, err := tx.CountFrames(project.FrameQuery{}); return err },
			"newest roots": func(tx project.Tx) error {
				_, err := tx.FindFrames(project.FrameQuery{Roots: true, Order: project.NewestFirst, Limit: 20})
				return err
			},
			"search": func(tx project.Tx) error {
				_, err := tx.FindFrames(project.FrameQuery{Text: "parser", Order: project.NewestFirst, Limit: 20})
				return err
			},
			"revision": func(tx project.Tx) error { _, _, err := tx.Revision(); return err },
		} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					require.NoError(b, kept.View(context.Background(), read))
				}
			})
		}
	})
}

// BenchmarkChanged reads what a live view of the tree does: all frames once, and then what
// changed, with texts of the usual length.
func BenchmarkChanged(b *testing.B) {
	for _, n := range []int{20_000, 100_000} {
		kept := open(b, b.TempDir(), store.Options{LongLived: true})
		grow(b, kept, n)
		elaborate(b, kept)
		var last int64
		look := func(after int64, want int) func(b *testing.B) {
			return func(b *testing.B) {
				for b.Loop() {
					storetest.View(b, kept, func(tx project.Tx) {
						frames, err := tx.Changed(after)
						require.NoError(b, err)
						require.Len(b, frames, want)
						last, _, err = tx.Revision()
						require.NoError(b, err)
					})
				}
			}
		}
		b.Run(fmt.Sprintf("all of %d", n), look(0, n))
		require.NoError(b, kept.Update(context.Background(), decide("one")))
		b.Run(fmt.Sprintf("one of %d", n), look(last, 1))
	}
}

// elaborate gives all frames the texts that frames usually have.
func elaborate(b *testing.B, kept project.Store) {
	b.Helper()
	prose := func(n int) string { return strings.Repeat("why the parser reads on ", n/24+1)[:n] }
	for after := ""; ; {
		var frames []core.Frame
		storetest.Update(b, kept, func(tx project.Tx) {
			var err error
			frames, err = tx.FindFrames(project.FrameQuery{After: after, Limit: 2000})
			require.NoError(b, err)
			for _, f := range frames {
				f.Goal, f.Summary, f.Decisions = prose(60), prose(300), []string{prose(80), prose(80)}
				require.NoError(b, tx.SaveFrame(f))
			}
		})
		if len(frames) == 0 {
			return
		}
		after = frames[len(frames)-1].ID
	}
}

// BenchmarkRows reads and writes a thousand frames, without the sync at the end.
func BenchmarkRows(b *testing.B) {
	kept := store.Open(b.TempDir(), store.Options{})
	grow(b, kept, 1000)
	var frames []core.Frame
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			storetest.View(b, kept, func(tx project.Tx) {
				var err error
				frames, err = tx.FindFrames(project.FrameQuery{})
				require.NoError(b, err)
			})
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			storetest.Update(b, kept, func(tx project.Tx) {
				for _, f := range frames {
					require.NoError(b, tx.SaveFrame(f))
				}
			})
		}
	})
}
