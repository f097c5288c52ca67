package place_test

import (
	"os"
	"path/filepath"
	"sync"
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
			given, err := place.AtDir(in("whole"), start, home, nil)
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

// keyed returns the data folder of a project, as each process sees it, and the file with its key.
func keyed(t *testing.T) (data func() *place.Folder, path string) {
	s := newSite(t)
	s.dir("code")
	data = func() *place.Folder {
		f := s.folder("code", neverAsked(t))
		f.NoGit = true
		return f
	}
	return data, filepath.Join(data().Path, "stamp-key")
}

func TestTheStampKeyIsMadeOnceByItsFirstUse(t *testing.T) {
	data, path := keyed(t)
	_, err := data().StampKey(t.Context(), false)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.NoDirExists(t, filepath.Dir(path), "reading makes nothing")
	keys := make([][]byte, 16)
	var hooks sync.WaitGroup
	for i := range keys {
		hooks.Go(func() {
			var err error
			keys[i], err = data().StampKey(t.Context(), true)
			assert.NoError(t, err)
		})
	}
	hooks.Wait()
	for _, key := range keys {
		assert.Equal(t, keys[0], key)
		assert.Len(t, key, 32)
	}
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	again, err := data().StampKey(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, keys[0], again)
}

func TestABadStampKeyIsNoKey(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(path string) error
		says   string
	}{
		"cut short":          {func(path string) error { return os.WriteFile(path, []byte("AAAA"), 0o600) }, "is damaged"},
		"empty":              {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "is damaged"},
		"no text":            {func(path string) error { return os.WriteFile(path, []byte("\x00\xff"), 0o600) }, "is damaged"},
		"readable by others": {func(path string) error { return os.Chmod(path, 0o644) }, "others may read"},
		"a link": {func(path string) error {
			if err := os.Rename(path, path+"2"); err != nil {
				return err
			}
			return os.Symlink(path+"2", path)
		}, "is a symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			data, path := keyed(t)
			_, err := data().StampKey(t.Context(), true)
			require.NoError(t, err)
			require.NoError(t, tt.change(path))
			for _, write := range []bool{false, true} {
				_, err := data().StampKey(t.Context(), write)
				require.ErrorContains(t, err, tt.says)
				assert.ErrorContains(t, err, path)
			}
		})
	}
}
