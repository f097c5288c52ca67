package disk_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/project"
	"flame/store"
	"flame/store/disk"
)

// BenchmarkExamine is what every hook pays before it opens the database: at most
// 30 µs.
func BenchmarkExamine(b *testing.B) {
	dir := b.TempDir()
	kept := store.Open(dir, store.Options{})
	require.NoError(b, kept.Update(context.Background(), func(project.Tx) error { return nil }))
	b.Cleanup(func() { require.NoError(b, kept.Close()) })
	for b.Loop() {
		if _, err := disk.Examine(dir); err != nil {
			b.Fatal(err)
		}
	}
}
