package carry_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/carry"
	"flame/core"
)

func TestWhatIsNotCommittedIsToldAndBounded(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p, err := carry.PendingOf(t.Context(), s.checkout)
	require.NoError(t, err)
	before := p.Files
	s.writeAt(filepath.Join(s.checkout, "new one.txt"), "x")
	s.writeAt(filepath.Join(s.checkout, "a\nb"), "y")
	p, err = carry.PendingOf(t.Context(), s.checkout)
	require.NoError(t, err)
	assert.Equal(t, before+2, p.Files)
	assert.NoError(t, p.Check())
	assert.Contains(t, p.Untracked, "new one.txt")
	assert.Contains(t, p.Told(true), "new one.txt")
	assert.NotContains(t, p.Told(true), "\n")
	assert.Contains(t, p.Told(false), "does not see them")
	assert.Empty(t, carry.Pending{}.Told(true))

	big := filepath.Join(s.checkout, "big.bin")
	s.writeAt(big, "")
	require.NoError(t, os.Truncate(big, 60<<20))
	_, _, err = carry.Give(t.Context(), s.checkout, "a", carry.Options{Uncommitted: true, Folders: s.folders})
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.ErrorContains(t, err, "60 MB")
	_, left, err := carry.Give(t.Context(), s.checkout, "b", carry.Options{Folders: s.folders})
	require.NoError(t, err, "what stays behind is not bounded")
	assert.Equal(t, before+3, left)
}
