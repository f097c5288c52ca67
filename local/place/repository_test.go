package place_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/place"
	"flame/tests/cases"
)

func TestWhicheverWayOneGoesIntoAFolderItIsInTheSameProject(t *testing.T) {
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
			got, err := place.Locate(start, home, nil)
			require.NoError(t, err)
			assert.Equal(t, []string{want, want}, []string{got.Dir, got.Worktree}, start)
			given, err := place.Given(in("whole"), start, home, nil)
			require.NoError(t, err)
			assert.Equal(t, []string{want, want}, []string{given.Dir, given.Worktree}, start)
		}
		at, err := place.Locate(in("user"), home, nil)
		require.NoError(t, err)
		assert.Equal(t, in("home"), at.Dir, "HOME itself")
	}
	_, err = place.Locate(in("nowhere"), in("home"), nil)
	assert.Error(t, err)
}

// dotted makes the folder dot with the worktree main of the repository dot/.bare, a clone of up.
func (s site) dotted() {
	s.repository("up")
	s.git(".", "clone", "-q", "--bare", "up", "dot/.bare")
	s.write("dot/.git", "gitdir: ./.bare\n")
	s.git("dot", "worktree", "add", "-q", "main", "main")
}

// TestARepositoryIsOneProject has pairs of folders with one git-common-dir.
func TestARepositoryIsOneProject(t *testing.T) {
	s := newSite(t)
	s.dotted()
	s.git(".", "clone", "-q", "--separate-git-dir", s.path("apart.git"), "up", "apart")
	s.git("apart", "worktree", "add", "-q", "../apart-tree", "-b", "b")
	s.repository("whole")
	s.git("whole", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../up", "lib")
	s.git("whole/lib", "worktree", "add", "-q", "../../lib-tree", "-b", "b")
	s.git("whole/lib", "config", "extensions.worktreeConfig", "true")
	s.git("whole/lib", "config", "--worktree", "core.worktree", s.path("whole/lib"))
	s.dir("kept")
	s.git(".", "clone", "-q", "--separate-git-dir", s.path("kept/repo.git"), "up", "linked")
	require.NoError(t, os.Remove(s.path("linked/.git")))
	s.link("linked/.git", "../kept/repo.git")
	s.git("linked", "worktree", "add", "-q", "../linked-tree", "-b", "b")
	s.dir("poser/of-link")
	s.link("poser/of-link/.git", s.path("up/.git"))
	s.git(".", "clone", "-q", "--bare", "up", "bare.git")
	s.repository("new\nline ")
	s.git("new\nline ", "worktree", "add", "-q", "../new\ntree ", "-b", "b")
	for poser, of := range map[string]string{
		"poser/of-main": "up/.git", "poser/of-dot": "dot/.bare", "poser/of-lib": "whole/.git/modules/lib", "poser/of-tree": "apart.git/worktrees/apart-tree",
		"poser/of-folder": "poser", "poser/of-nothing": "", "poser/of-gone": "gone",
	} {
		s.write(poser+"/.git", "gitdir: "+s.path(of))
	}
	for start, want := range cases.Read[place.Place](t, "testdata/repositories.yaml") {
		found, err := place.Locate(s.path(start), s.path("home"), nil)
		require.NoError(t, err)
		assert.Equal(t, []string{s.path(want.Dir), s.path(want.Worktree)}, []string{found.Dir, found.Worktree}, start)
	}
}

func TestDataUnderAFormerNameStaysInUse(t *testing.T) {
	s := newSite(t)
	s.dotted()
	s.git(".", "clone", "-q", "--bare", "up", "repo.git")
	s.git("repo.git", "config", "core.bare", "false")
	s.dir("linked")
	s.link("linked/.git", "../repo.git")
	for start, former := range map[string]string{"dot": "dot/.bare", "dot/main": "dot/.bare", "linked": "linked"} {
		kept := s.ready(s.folder(former, nil))
		found, err := place.Locate(s.path(start), s.path("home"), nil)
		require.NoError(t, err)
		assert.Equal(t, kept, s.ready(place.FolderOf(found, place.Env{Home: s.dir("home")}, neverAsked(t))), start)
	}
}
