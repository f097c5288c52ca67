package health

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/store/disk"
	"flame/store/schema"
)

func TestACheckThatDoesNotEndSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), disk.Name)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	c, err := disk.New(path).Connect(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, c.UseLog(t.Context()))
	require.NoError(t, c.Transact(t.Context(), disk.BeginUpdate, func() error { return schema.Newest.Apply(t.Context(), c, 0) }))
	require.NoError(t, c.Close())
	f, err := disk.OpenReadOnly(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	findings, err := describe(t.Context(), f, time.Nanosecond, func(ctx context.Context, _ *disk.Conn) (Rows, error) { return Rows{}, ctx.Err() })
	require.NoError(t, err)
	require.Len(t, findings, 1)
	assert.True(t, findings[0].Broken)
	assert.Contains(t, findings[0].What, "could not be read to its end within 1ns")
	assert.Contains(t, findings[0].Hint, "keep a copy")
}
