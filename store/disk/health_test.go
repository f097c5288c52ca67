package disk

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACheckThatDoesNotEndSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Name)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	c, err := New(path).Connect(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, c.UseLog(t.Context()))
	require.NoError(t, c.Transact(t.Context(), BeginUpdate, func() error { return NewestSchema.Apply(t.Context(), c, 0) }))
	require.NoError(t, c.Close())
	f, err := OpenReadOnly(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	findings, err := describe(t.Context(), f, time.Nanosecond, func(ctx context.Context, _ *Conn) (CheckResult, error) { return CheckResult{}, ctx.Err() })
	require.NoError(t, err)
	require.Len(t, findings, 1)
	assert.True(t, findings[0].Broken)
	assert.Contains(t, findings[0].What, "could not be read to its end within 0 ms")
	assert.Contains(t, findings[0].Hint, "keep a copy")
}
