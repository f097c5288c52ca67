package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/project"
	"flame/store/disk"
)

func TestACheckThatDoesNotEndSaysSo(t *testing.T) {
	t.Parallel()
	kept := Open(t.TempDir(), Options{})
	require.NoError(t, kept.Update(context.Background(), func(tx project.Tx) error { return plantTree(tx, 100) }))
	require.NoError(t, kept.Close())
	f, err := disk.OpenReadOnly(kept.path())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	findings, err := describe(context.Background(), f, time.Nanosecond)
	require.NoError(t, err)
	require.Len(t, findings, 1)
	assert.True(t, findings[0].Broken)
	assert.Contains(t, findings[0].What, "could not be read to its end within 1ns")
	assert.Contains(t, findings[0].Hint, "keep a copy")
}
