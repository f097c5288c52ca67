package changes_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/tests/effort"
)

// mirrors returns the folders of the worker's mirrors.
func (s *scene) mirrors() []string {
	s.t.Helper()
	all, err := filepath.Glob(filepath.Join(s.worker.Dir, "[^.]*"))
	require.NoError(s.t, err)
	return all
}

// below deletes the files below a folder for which which holds.
func (s *scene) below(dir string, which func(path string) bool) {
	s.t.Helper()
	deleted := 0
	require.NoError(s.t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !which(path) {
			return err
		}
		deleted++
		return os.Remove(path)
	}))
	require.NotZero(s.t, deleted)
}

func TestADamagedMirrorIsReplaced(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	empty := func(name string) func(*scene, string) {
		return func(s *scene, gitDir string) { require.NoError(s.t, os.Truncate(filepath.Join(gitDir, name), 0)) }
	}
	for name, damage := range map[string]func(s *scene, gitDir string){
		"all objects are gone": func(s *scene, gitDir string) {
			s.below(filepath.Join(gitDir, "objects"), func(string) bool { return true })
		},
		"a file's content is gone": func(s *scene, gitDir string) {
			id := s.git(s.checkout, "rev-parse", "HEAD:sub/file")
			s.below(filepath.Join(gitDir, "objects"), func(path string) bool { return strings.HasSuffix(path, id[:2]+"/"+id[2:]) })
		},
		"objects were written by half": func(s *scene, gitDir string) {
			require.NoError(s.t, filepath.WalkDir(filepath.Join(gitDir, "objects"), func(path string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				require.NoError(s.t, os.Chmod(path, 0o600))
				return os.Truncate(path, 10)
			}))
		},
		"its settings are empty":             empty("HEAD"),
		"its settings are those of no git":   func(s *scene, gitDir string) { s.writeAt(filepath.Join(gitDir, "config"), "[core\n") },
		"its settings are of another format": func(s *scene, gitDir string) { s.git(gitDir, "config", "core.repositoryFormatVersion", "9") },
		"it has no repository":               func(s *scene, gitDir string) { require.NoError(s.t, os.RemoveAll(gitDir)) },
		"it is a file": func(s *scene, gitDir string) {
			require.NoError(s.t, os.RemoveAll(filepath.Dir(gitDir)))
			s.writeAt(filepath.Dir(gitDir), "")
		},
		"a git that was killed has locked a ref": func(s *scene, gitDir string) {
			s.writeAt(filepath.Join(gitDir, "refs", "flame", "base", "b.lock"), "")
		},
		"a git that was killed left a ref that is empty": func(s *scene, gitDir string) {
			s.writeAt(filepath.Join(gitDir, "refs", "flame", "base", "b"), "")
		},
		"a ref is a folder": func(s *scene, gitDir string) {
			s.writeAt(filepath.Join(gitDir, "refs", "flame", "base", "b", "x"), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			first := s.give("a")
			s.take("one", first)
			require.Len(t, s.mirrors(), 1)
			damage(s, filepath.Join(s.mirrors()[0], ".git"))

			s.write("changed", "one\ntwo\nthree\n")
			s.commit()
			second := s.give("b")
			for _, dir := range []string{"two", "three"} { // the second time from what was made
				s.take(dir, second)
				s.writeAt(filepath.Join(s.dir(dir), "changed"), "by the agent\n")
				result, err := s.worker.Collect(t.Context(), s.dir(dir), second, "b", 1, filepath.Join(s.base, "patch"))
				require.NoError(t, err)
				assert.Equal(t, result.Commit, s.git(s.remote, "rev-parse", result.Ref))
			}
			assert.LessOrEqual(t, len(s.mirrors()), 2)
		})
	}
}

func TestAnAgentReturnsFromAMirrorThatWasReplaced(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.give("a")
	s.take("one", b)
	lock := filepath.Join(s.mirrors()[0], ".git", "refs", "flame", "base", "b.lock")
	s.writeAt(lock, "")
	other := s.give("b")
	s.take("two", other)
	require.Len(t, s.mirrors(), 2)
	for id, base := range map[string]changes.Base{"one": b, "two": other} {
		s.writeAt(filepath.Join(s.dir(id), "changed"), "by "+id+"\n")
		result, err := s.worker.Collect(t.Context(), s.dir(id), base, id, 1, filepath.Join(s.base, id+".patch"))
		require.NoError(t, err)
		assert.Equal(t, []string{"changed"}, changes.Paths(result.Changes))
	}
}

func TestUnusedMirrorsAreRemoved(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.give("a")
	s.take("one", b)
	mirror := s.mirrors()[0]
	half := filepath.Join(s.worker.Dir, ".new-1")
	require.NoError(t, os.MkdirAll(half, 0o700))
	s.writeAt(filepath.Join(s.worker.Dir, "notes.txt"), "another's")
	remove := func(since time.Time) int {
		n, err := s.worker.RemoveIdle(t.Context(), since)
		require.NoError(t, err)
		return n
	}
	long := time.Now().Add(time.Hour)
	assert.Zero(t, remove(time.Now().Add(-time.Hour)), "all were used just now")
	assert.Equal(t, 1, remove(long), "it removes the unfinished mirror; the other one has a worktree")
	assert.NoDirExists(t, half)
	require.NoError(t, os.RemoveAll(s.dir("one"))) // as by hand
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(mirror, old, old))
	s.take("two", b)
	assert.Zero(t, remove(time.Now().Add(-24*time.Hour)), "Take marks the mirror as used")
	require.NoError(t, os.RemoveAll(s.dir("two")))
	assert.Equal(t, 1, remove(long))
	assert.NoDirExists(t, mirror)
	assert.FileExists(t, filepath.Join(s.worker.Dir, "notes.txt"))
	s.take("three", b)
}
