package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestAnUnreadableStatusIsReported(t *testing.T) {
	for _, text := range []string{"{", strings.Repeat(" ", maxStatus+1), `{"at":"x"}`} {
		data := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(data, statusName), []byte(text), 0o600))
		_, err := LoadStatus(data)
		require.ErrorIs(t, err, core.ErrInvalid)
	}
	data := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "elsewhere"), []byte("{}"), 0o600))
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(data, statusName)))
	_, err := LoadStatus(data)
	require.ErrorIs(t, err, core.ErrUnavailable)
}
