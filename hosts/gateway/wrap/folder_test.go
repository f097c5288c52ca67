package wrap_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/gateway/wrap"
)

func TestTemporaryFoldersThatWereLeftAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	running, err := wrap.MakeFolder("", "gateway-running0")
	require.NoError(t, err)
	long := time.Now().Add(-time.Hour)
	tests := map[string]struct {
		name  string
		mode  os.FileMode
		fresh bool
		stays bool
	}{
		"one that was left":      {"flame-gateway-left0000", 0o700, false, false},
		"one that is being made": {"flame-gateway-fresh000", 0o700, true, true},
		"one that others see":    {"flame-gateway-public00", 0o755, false, true},
		"another name":           {"flame-gateway-left0000.d", 0o700, false, true},
		"without its beginning":  {"gateway-left0000", 0o700, false, true},
	}
	for _, tt := range tests {
		path := filepath.Join(dir, tt.name)
		require.NoError(t, os.Mkdir(path, tt.mode))
		require.NoError(t, os.WriteFile(filepath.Join(path, "settings.json"), nil, 0o600))
		if !tt.fresh {
			require.NoError(t, os.Chtimes(path, long, long))
		}
	}
	require.NoError(t, os.Chtimes(running.Path, long, long))
	link := filepath.Join(dir, "flame-gateway-link0000")
	require.NoError(t, os.Symlink(t.TempDir(), link))

	next, err := wrap.MakeFolder("", "gateway-next0000")
	require.NoError(t, err)
	assert.Equal(t, "gateway-next0000", next.ID)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := os.Stat(filepath.Join(dir, tt.name, "settings.json"))
			assert.Equal(t, tt.stays, err == nil)
		})
	}
	_, err = os.Readlink(link)
	assert.NoError(t, err, "the link is not a folder")
	assert.DirExists(t, running.Path)
	require.NoError(t, next.Remove())
	assert.NoDirExists(t, next.Path)
	require.NoError(t, running.Remove())
	assert.NoDirExists(t, running.Path)
}
