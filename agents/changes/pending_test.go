package changes_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/core"
)

func TestUncommittedFilesAreReportedAndBounded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p, err := changes.PendingOf(t.Context(), s.checkout)
	require.NoError(t, err)
	before := p.Files
	s.writeAt(filepath.Join(s.checkout, "new one.txt"), "x")
	s.writeAt(filepath.Join(s.checkout, "a\nb"), "y")
	p, err = changes.PendingOf(t.Context(), s.checkout)
	require.NoError(t, err)
	assert.Equal(t, before+2, p.Files)
	assert.NoError(t, p.Check())
	assert.Contains(t, p.Untracked, "new one.txt")
	assert.Contains(t, p.Told(true), "new one.txt")
	assert.NotContains(t, p.Told(true), "\n")
	assert.Contains(t, p.Told(false), "does not see them")
	assert.Empty(t, changes.Pending{}.Told(true))

	big := filepath.Join(s.checkout, "big.bin")
	s.writeAt(big, "")
	require.NoError(t, os.Truncate(big, 60<<20))
	_, _, err = changes.Give(t.Context(), s.checkout, "a", changes.GiveOptions{Uncommitted: true, Folders: s.folders})
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.ErrorContains(t, err, "60 MB")
	_, left, err := changes.Give(t.Context(), s.checkout, "b", changes.GiveOptions{Folders: s.folders})
	require.NoError(t, err, "files that stay behind have no limit")
	assert.Equal(t, before+3, left)
}
