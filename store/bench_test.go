package store_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/storetest"
)

// BenchmarkInvalidate invalidates 10,000 planned frames, and commits that.
func BenchmarkInvalidate(b *testing.B) {
	const n = 10_000
	kept := store.Open(filepath.Join(b.TempDir(), "data"), store.Options{LongLived: true})
	defer kept.Close()
	for b.Loop() {
		b.StopTimer()
		storetest.Update(b, kept, func(tx project.Tx) {
			require.NoError(b, tx.SaveFrame(core.Frame{ID: "top", Status: core.Invalidated}))
			for i := range n {
				f := core.Frame{ID: fmt.Sprintf("plan-%d", i), Parent: "top", Status: core.Planned, Goal: fmt.Sprint("part ", i), CreatedAt: core.Millis(i)}
				if i > 10 {
					f.Parent = fmt.Sprintf("plan-%d", i/10)
				}
				require.NoError(b, tx.SaveFrame(f))
			}
		})
		b.StartTimer()
		storetest.Update(b, kept, func(tx project.Tx) {
			below, err := tx.InvalidateBelow("top", core.Cascade{Reason: "gone", At: 1}, core.Event{Event: core.FrameInvalidated, Session: "s"})
			require.NoError(b, err)
			require.Len(b, below.Planned, n)
		})
	}
}
