package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkExamine is what every hook pays before it opens the database: at most
// 30 µs.
func BenchmarkExamine(b *testing.B) {
	dir := b.TempDir()
	kept := Open(dir, Options{})
	require.NoError(b, saveOne(kept, "f-1"))
	b.Cleanup(func() { require.NoError(b, kept.Close()) })
	for b.Loop() {
		if _, err := examine(dir); err != nil {
			b.Fatal(err)
		}
	}
}
