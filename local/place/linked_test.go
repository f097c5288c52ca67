package place_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/place"
)

func TestWhicheverWayOneGoesIntoAFolderItIsInTheSameProject(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	in := func(parts ...string) string { return filepath.Join(append([]string{top}, parts...)...) }
	for _, dir := range []string{in("home", "repo", ".git"), in("home", "repo", "apps", "web"), in("data")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(in("home", "repo", ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	require.NoError(t, os.Symlink(in("home"), in("user")))                       // a home that is a link
	require.NoError(t, os.Symlink(in("home", "repo"), in("whole")))              // to the repository
	require.NoError(t, os.Symlink(in("home", "repo", "apps", "web"), in("web"))) // to a part of it
	require.NoError(t, os.Symlink(in("web"), in("chain")))
	want := in("home", "repo")
	for _, home := range []string{in("home"), in("user")} {
		for _, start := range []string{in("home", "repo"), in("user", "repo", "apps"), in("whole"), in("whole", "apps", "web"), in("web"), in("chain")} {
			got, err := place.Locate(start, home)
			require.NoError(t, err)
			assert.Equal(t, []string{want, want}, []string{got.Dir, got.Worktree}, start)
			given, err := place.Given(in("whole"), start, home)
			require.NoError(t, err)
			assert.Equal(t, []string{want, want}, []string{given.Dir, given.Worktree}, start)
		}
		at, err := place.Locate(in("user"), home)
		require.NoError(t, err)
		assert.Equal(t, in("home"), at.Dir, "HOME itself")
	}
	_, err = place.Locate(in("nowhere"), in("home"))
	assert.Error(t, err)
}
