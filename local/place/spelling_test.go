package place

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// foldingBelow is a volume on which case does not count below a folder, as on most
// disks of macOS; above it does. It has these folders.
func foldingBelow(top string, folders ...string) volume {
	fold := func(path string) string {
		if strings.HasPrefix(path, top+"/") {
			return strings.ToLower(path)
		}
		return path
	}
	has := func(path string) bool {
		for _, folder := range folders {
			if fold(folder) == fold(path) {
				return true
			}
		}
		return false
	}
	return volume{
		same: func(a, b string) bool { return has(a) && has(b) && fold(a) == fold(b) },
		list: func(dir string) (names []string, err error) {
			for _, folder := range folders {
				if fold(filepath.Dir(folder)) == fold(dir) {
					names = append(names, filepath.Base(folder))
				}
			}
			return names, nil
		},
	}
}

func TestAFolderHasOneSpelling(t *testing.T) {
	v := foldingBelow("/Volumes", "/Volumes", "/Volumes/Code", "/Volumes/Code/MyApp", "/Volumes/Code/Éclair", "/Volumes/Code/12", "/srv", "/srv/App")
	for given, want := range map[string]string{
		"/Volumes/Code/MyApp":  "/Volumes/Code/MyApp",
		"/Volumes/code/myapp":  "/Volumes/Code/MyApp",
		"/Volumes/CODE/MYAPP":  "/Volumes/Code/MyApp",
		"/Volumes/code/éCLAIR": "/Volumes/Code/Éclair",
		"/Volumes/cODE/12":     "/Volumes/Code/12",
		"/srv/App":             "/srv/App",
		"/":                    "/",
	} {
		assert.Equal(t, want, v.respell(given))
	}
}

func TestPathsOnACaseSensitiveVolumeStay(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"app", "App", "APP"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, name), 0o755))
	}
	if sameEntry(filepath.Join(base, "app"), filepath.Join(base, "APP")) {
		t.Skip("case does not count on this disk")
	}
	for _, name := range []string{"app", "App", "APP"} {
		real, err := realPath(filepath.Join(base, name))
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(base, name), real)
	}
}

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
