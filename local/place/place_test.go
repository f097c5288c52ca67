package place_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/local/place"
	"flame/tests/cases"
)

// A site is the folder of a test.
type site struct {
	t    *testing.T
	base string
}

func newSite(t *testing.T) site {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return site{t, base}
}

func (s site) path(name string) string { return filepath.Join(s.base, name) }

func (s site) dir(name string) string {
	require.NoError(s.t, os.MkdirAll(s.path(name), 0o755))
	return s.path(name)
}

func (s site) write(name, text string) {
	s.dir(filepath.Dir(name))
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(text), 0o600))
}

func (s site) link(name, target string) { require.NoError(s.t, os.Symlink(target, s.path(name))) }

func (s site) git(in string, args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Dir = s.dir(in)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, string(out))
}

// repository makes a repository with a commit of its own.
func (s site) repository(name string) {
	s.git(name, "init", "-q", "-b", "main")
	s.git(name, "commit", "-q", "--allow-empty", "-m", name)
}

func TestLocateFindsTheProject(t *testing.T) {
	s := newSite(t)
	s.dir("home/.flame")
	s.repository("home/repo")
	s.git("home/repo", "worktree", "add", "-q", s.path("home/tree"))
	s.git(".", "clone", "-q", "--bare", s.path("home/repo"), s.path("bare.git"))
	s.git("bare.git", "worktree", "add", "-q", s.path("of-bare"), "-b", "other")
	s.dir("home/plain/.flame")
	s.write("home/repo/sub/.git", "gitdir: ../.git/modules/sub")
	s.write("home/repo/poser/.git", "gitdir: "+s.path("home/repo/.git/worktrees/tree"))
	s.dir("home/repo/boxed/.git")
	s.write("home/lost/.git", "gitdir: /nowhere/at/all")
	s.write("home/odd/.git", "\x00\xff not a git file")
	s.dir("home/linked")
	s.link("home/linked/.flame", s.path("home"))
	s.dir("home/pipe")
	require.NoError(t, syscall.Mkfifo(s.path("home/pipe/.git"), 0o600))

	alone := []string{"home/linked/x", "home/nothing/x", "else/x"} // nothing marks these as projects
	tests := cases.Read[struct{ Start, Dir, Worktree string }](t, "testdata/projects.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := place.Locate(s.dir(tt.Start), s.path("home"), nil)
			require.NoError(t, err)
			assert.Equal(t, place.Place{Dir: s.path(tt.Dir), Worktree: s.path(tt.Worktree), Unmarked: slices.Contains(alone, tt.Dir)}, found)
		})
	}
	_, err := place.Locate(s.path("missing"), s.path("home"), nil)
	require.ErrorIs(t, err, core.ErrNotFound)
}

func TestLocateIgnoresRepositoriesOfOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	for _, marker := range []string{".git", ".flame"} {
		s := newSite(t)
		s.write("shared/"+marker+"/HEAD", "ref: refs/heads/main\n")
		s.link("other-name", s.path("shared"))
		require.NoError(t, os.Chown(s.path("shared/"+marker), 12345, 12345))
		mine, shared := s.dir("shared/mine"), s.path("shared")
		for _, tt := range []struct {
			values []string // of safe.directory
			safe   bool
		}{
			{nil, false}, {[]string{""}, false}, {[]string{mine}, false}, {[]string{shared + "x"}, false}, {[]string{shared + "/*"}, false},
			{[]string{"*", ""}, false}, {[]string{"shared"}, false},
			{[]string{shared}, true}, {[]string{"*"}, true}, {[]string{s.base + "/*"}, true}, {[]string{"", "x", shared + "/"}, true},
			{[]string{s.path("other-name")}, true},
		} {
			found, err := place.Locate(mine, s.path("home"), func() []string { return tt.values })
			require.NoError(t, err)
			want := place.Place{Dir: mine, Worktree: mine, Unmarked: true, Foreign: shared}
			if tt.safe {
				want = place.Place{Dir: shared, Worktree: shared}
			}
			assert.Equal(t, want, found, "%s %q", marker, tt.values)
		}
	}
}

func TestAGivenProjectIsSeenFromThePresentWorktree(t *testing.T) {
	s := newSite(t)
	s.repository("repo")
	s.git("repo", "worktree", "add", "-q", s.path("tree"))
	s.repository("repo/nested")
	for name, tt := range map[string]struct{ start, worktree string }{
		"from a worktree of it":     {"tree/sub", "tree"},
		"from itself":               {"repo/sub", "repo"},
		"from a repository in it":   {"repo/nested", "repo"},
		"from somewhere else":       {"else", "repo"},
		"from a folder that is not": {"", "repo"},
	} {
		t.Run(name, func(t *testing.T) {
			start := s.path("gone")
			if tt.start != "" {
				start = s.dir(tt.start)
			}
			found, err := place.AtDir(s.path("repo"), start, s.path("home"), nil)
			require.NoError(t, err)
			assert.Equal(t, place.Place{Dir: s.path("repo"), Worktree: s.path(tt.worktree)}, found)
		})
	}
	_, err := place.AtDir(s.path("gone"), s.base, s.path("home"), nil)
	require.ErrorIs(t, err, core.ErrNotFound)
	assert.Contains(t, err.Error(), "FLAME_PROJECT_DIR")
}
