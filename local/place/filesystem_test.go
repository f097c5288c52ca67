package place

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestUnsuitedFilesystems(t *testing.T) {
	for name, refused := range map[string]bool{"": false, "NFS": true, "SMB": true, "9p": true, "FUSE": true} {
		err := suits("/some/folder", name)
		assert.Equal(t, refused, errors.Is(err, core.ErrUnavailable), name)
		var p *core.Problem
		if errors.As(err, &p) {
			assert.Contains(t, p.Hint, "FLAME_DIR")
		}
	}
	require.NoError(t, CheckFilesystem(filepath.Join(t.TempDir(), "not", "made", "yet")))
}
