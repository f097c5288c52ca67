package board_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/render/board"
	"flame/store"
)

// BenchmarkChange is what a page costs when one frame of many changes.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{1_000, 20_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			data := store.Open(filepath.Join(b.TempDir(), "data"), store.Options{LongLived: true})
			b.Cleanup(func() { require.NoError(b, data.Close()) })
			ctx := b.Context()
			require.NoError(b, data.Update(ctx, func(tx project.Tx) error {
				for i := range n {
					frame := core.Frame{ID: fmt.Sprintf("f%06d", i), Goal: "a usual goal", Status: core.Completed}
					frame.CreatedAt, frame.StartedAt, frame.EndedAt = core.Millis(i), core.Millis(i), core.Millis(i+1)
					if i%50 > 0 {
						frame.Parent = fmt.Sprintf("f%06d", i-1)
					}
					if err := tx.SaveFrame(frame); err != nil {
						return err
					}
				}
				return nil
			}))
			now := core.Millis(1)
			page := board.New(data, func() core.Millis { return now })
			_, err := page.Read(ctx)
			require.NoError(b, err)
			version := page.Since(0).Version
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				now += 250 // as a feed asks
				require.NoError(b, data.Update(ctx, func(tx project.Tx) error {
					frame, err := tx.Frame(fmt.Sprintf("f%06d", n-1))
					if err != nil {
						return err
					}
					frame.Usage.ToolCalls = int64(i + 1)
					return tx.SaveFrame(frame)
				}))
				b.StartTimer()
				if _, err := page.Read(ctx); err != nil {
					b.Fatal(err)
				}
				version = page.Since(version).Version
			}
		})
	}
}
