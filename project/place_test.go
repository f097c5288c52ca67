package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

func TestLocateFindsTheProject(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir := func(path string) string {
		full := filepath.Join(base, path)
		require.NoError(t, os.MkdirAll(full, 0o755))
		return full
	}
	git := func(in string, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	home := dir("home")
	dir("home/.flame")
	git(dir("home/repo"), "init", "-q", "-b", "main")
	git(dir("home/repo"), "commit", "-q", "--allow-empty", "-m", "x")
	git(dir("home/repo"), "worktree", "add", "-q", filepath.Join(base, "home/tree"))
	git(base, "clone", "-q", "--bare", dir("home/repo"), filepath.Join(base, "bare.git"))
	git(filepath.Join(base, "bare.git"), "worktree", "add", "-q", filepath.Join(base, "of-bare"), "-b", "other")
	dir("home/plain/.flame")
	write(t, base, "home/repo/sub/.git", "gitdir: ../.git/modules/sub")

	tests := map[string]struct{ start, dir, worktree, data string }{
		"a repository":                      {"home/repo", "home/repo", "home/repo", "home/repo/.flame"},
		"a folder in it":                    {"home/repo/a/b", "home/repo", "home/repo", "home/repo/.flame"},
		"a worktree shares its main's":      {"home/tree/a", "home/repo", "home/tree", "home/repo/.flame"},
		"a worktree of a bare repository":   {"of-bare", "bare.git", "of-bare", "bare.git/flame"},
		"a submodule is its own":            {"home/repo/sub", "home/repo/sub", "home/repo/sub", "home/repo/sub/.flame"},
		"a folder with .flame":              {"home/plain/x", "home/plain", "home/plain", "home/plain/.flame"},
		"home is never found from below":    {"home/nothing/x", "home/nothing/x", "home/nothing/x", "home/nothing/x/.flame"},
		"home itself is where one stands":   {"home", "home", "home", "home/.flame"},
		"outside of home, without anything": {"else/x", "else/x", "else/x", "else/x/.flame"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			place, err := project.Locate(dir(tt.start), home)
			require.NoError(t, err)
			want := project.Place{Dir: filepath.Join(base, tt.dir), Worktree: filepath.Join(base, tt.worktree), Data: filepath.Join(base, tt.data)}
			assert.Equal(t, want, place)
		})
	}
	_, err = project.Locate(filepath.Join(base, "missing"), home)
	require.ErrorIs(t, err, core.ErrNotFound)
}
