package changes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/tests/effort"
)

// TestMain leaves the user's own git out of the tests.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	os.Exit(m.Run())
}

// A scene is an asker with a checkout, a remote and a worker.
type scene struct {
	t                      *testing.T
	base, checkout, remote string
	worker                 changes.Mirrors
	folders                []string
	mark, trap             string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := &scene{t: t, base: base, checkout: filepath.Join(base, "checkout"), remote: filepath.Join(base, "remote", "project.git")}
	s.folders = []string{"file:" + filepath.Join(base, "remote") + "/*"}
	s.worker = changes.Mirrors{Dir: filepath.Join(base, "worker", "mirrors"), Allowed: s.folders}
	s.mark, s.trap = filepath.Join(base, "sprung"), filepath.Join(base, "trap")
	require.NoError(t, os.WriteFile(s.trap, []byte("#!/bin/sh\necho \"$0 $*\" >>"+s.mark+"\n"), 0o700))
	s.git(base, "init", "--quiet", "--initial-branch=main", "--template=", s.checkout)
	s.write("changed", "one\n")
	s.write("sub/file", "one\n")
	s.write(".gitignore", "*.log\n")
	s.git(s.checkout, "add", "--all")
	s.git(s.checkout, "commit", "--quiet", "--message", "first")
	s.write("changed", "one\ntwo\n")
	s.git(s.checkout, "commit", "--quiet", "--all", "--message", "second")
	s.git(base, "init", "--quiet", "--bare", "--template=", s.remote)
	s.git(s.checkout, "remote", "add", "origin", s.remote)
	return s
}

func (s *scene) write(path, text string) { s.writeAt(filepath.Join(s.checkout, path), text) }

func (s *scene) writeAt(path, text string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
}

// git runs git with the usual settings.
func (s *scene) git(dir string, args ...string) string {
	s.t.Helper()
	out, err := s.try(dir, args...)
	require.NoError(s.t, err, out)
	return strings.TrimSpace(out)
}

func (s *scene) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *scene) give(id string) changes.Base {
	s.t.Helper()
	b, err := changes.Export(s.t.Context(), s.checkout, id, s.folders)
	require.NoError(s.t, err)
	return b
}

// commit commits all that is in the checkout.
func (s *scene) commit() {
	s.t.Helper()
	s.git(s.checkout, "add", "--all")
	s.git(s.checkout, "commit", "--quiet", "--allow-empty", "--no-gpg-sign", "--no-verify", "--message", "more")
}

func (s *scene) dir(name string) string { return filepath.Join(s.base, "worker", name) }

func (s *scene) take(name string, b changes.Base) (workdir string) {
	s.t.Helper()
	workdir, err := s.worker.Checkout(s.t.Context(), s.dir(name), b)
	require.NoError(s.t, err)
	return workdir
}

// refs lists the refs of a repository.
func (s *scene) refs(dir string) string {
	return s.git(dir, "for-each-ref", "--format=%(refname)")
}

// state is all that a checkout shows of itself, and all of its files but objects.
func (s *scene) state() map[string]string {
	s.t.Helper()
	state := map[string]string{}
	require.NoError(s.t, filepath.WalkDir(s.checkout, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/.git/objects/") {
			return err
		}
		text, err := os.ReadFile(path)
		state[path] = string(text)
		return err
	}))
	return state
}

func TestWorkGoesToAnotherMachineAndComesBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("sub/new", "not committed\n")
	s.write("ignored.log", "ignored\n")
	later := time.Now().Add(time.Minute) // plain git would note in the index that it has looked
	require.NoError(t, os.Chtimes(filepath.Join(s.checkout, ".gitignore"), later, later))
	before := s.state()

	left, err := changes.Uncommitted(t.Context(), s.checkout)
	require.NoError(t, err)
	assert.Equal(t, 1, left)
	b := s.give("ag-1")
	assert.Equal(t, changes.Base{
		Repository: s.git(s.checkout, "rev-list", "--max-parents=0", "HEAD"), Remote: "file://" + s.remote,
		Commit: s.git(s.checkout, "rev-parse", "HEAD"), Ref: "refs/flame/base/ag-1",
	}, b)
	assert.Equal(t, before, s.state(), "the user's index, HEAD, branches, reflog and files stay as they were")
	s.commit()
	all := s.give("ag-2")
	assert.NotEqual(t, b.Commit, all.Commit)
	assert.Equal(t, "refs/flame/base/ag-1\nrefs/flame/base/ag-2", s.refs(s.remote))

	assert.Equal(t, s.dir("one"), s.take("one", b))
	assert.NoFileExists(t, filepath.Join(s.dir("one"), "sub/new"))
	workdir := s.take("two", all)
	text, err := os.ReadFile(filepath.Join(workdir, "sub/new"))
	require.NoError(t, err)
	assert.Equal(t, "not committed\n", string(text))
	assert.NoFileExists(t, filepath.Join(workdir, "ignored.log"))

	s.writeAt(filepath.Join(workdir, "made"), "by the agent\n")
	s.git(workdir, "add", "made")
	s.git(workdir, "commit", "--quiet", "--message", "the agent's own")
	s.writeAt(filepath.Join(workdir, "sub/file"), "one\x00binary\n")
	require.NoError(t, os.Remove(filepath.Join(workdir, "changed")))
	patch := filepath.Join(s.base, "changes.patch")
	result, err := s.worker.Collect(t.Context(), workdir, all, "ag-2", 1, patch)
	require.NoError(t, err)
	assert.Equal(t, "refs/flame/run/ag-2/1", result.Ref)
	assert.Equal(t, []string{"changed", "made", "sub/file"}, changes.Paths(result.Changes))
	assert.Equal(t, result.Commit, s.git(s.remote, "rev-parse", result.Ref))
	assert.Equal(t, "flame: run/ag-2/1\nthe agent's own\nmore", s.git(s.remote, "log", "-3", "--format=%s", result.Ref))
	assert.Equal(t, "flame", s.git(s.remote, "log", "-1", "--format=%an", result.Ref))

	s.git(s.checkout, "apply", patch)
	assert.NoFileExists(t, filepath.Join(s.checkout, "changed"))
	text, err = os.ReadFile(filepath.Join(s.checkout, "sub/file"))
	require.NoError(t, err)
	assert.Equal(t, "one\x00binary\n", string(text))
	s.git(s.checkout, "fetch", "--quiet", "origin", result.Ref)
	assert.Equal(t, result.Commit, s.git(s.checkout, "rev-parse", "FETCH_HEAD"))

	info, err := os.Stat(s.worker.Dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	mirrors, err := os.ReadDir(s.worker.Dir)
	require.NoError(t, err)
	assert.Len(t, mirrors, 1, "all bases of a remote share one mirror")
}

func TestAWorktreeWithoutChangesIsRemoved(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.give("a")
	s.take("one", b)
	result, err := s.worker.Collect(t.Context(), s.dir("one"), b, "a", 1, filepath.Join(s.base, "patch"))
	require.NoError(t, err)
	assert.Zero(t, result)
	assert.NoDirExists(t, s.dir("one"))
	assert.Equal(t, "refs/flame/base/a", s.refs(s.remote))
	s.take("one", b)
}

func TestAnAgentWorksInTheFolderOfItsAsker(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	top := s.checkout
	s.checkout = filepath.Join(top, "sub")
	s.writeAt(filepath.Join(top, "above"), "new\n")
	s.commit()
	b := s.give("a")
	assert.Equal(t, "sub", b.Prefix)
	assert.Equal(t, filepath.Join(s.dir("one"), "sub"), s.take("one", b))
	assert.FileExists(t, filepath.Join(s.dir("one"), "above"), "the whole checkout goes along, not only the folder")
}

// An agent that begins leaves alone the worktree that git has begun to make for another one.
func TestAnAgentLeavesABegunWorktreeAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.give("a")
	s.take("first", b)
	folders, err := filepath.Glob(filepath.Join(s.worker.Dir, "*", ".git", "worktrees"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	begun := filepath.Join(folders[0], "begun")
	require.NoError(t, os.Mkdir(begun, 0o700))
	s.take("second", b)
	assert.DirExists(t, begun)
}

func TestManyAgentsOfOneRepositoryBeginAtOnce(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	s := newScene(t)
	const agents = 6
	bases, errs := make([]changes.Base, agents), make(chan error, agents)
	for i := range agents {
		s.write("new", strconv.Itoa(i))
		s.commit()
		bases[i] = s.give("a" + strconv.Itoa(i))
	}
	for i, b := range bases {
		go func() {
			dir := s.dir(strconv.Itoa(i))
			_, err := s.worker.Checkout(t.Context(), dir, b)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "made"), []byte("x"), 0o600)
			}
			if err == nil {
				_, err = s.worker.Collect(t.Context(), dir, b, "a"+strconv.Itoa(i), 1, filepath.Join(s.base, "patch"+strconv.Itoa(i)))
			}
			errs <- err
		}()
	}
	for range agents {
		require.NoError(t, <-errs)
	}
	for i := range agents {
		text, err := os.ReadFile(filepath.Join(s.dir(strconv.Itoa(i)), "new"))
		require.NoError(t, err)
		assert.Equal(t, strconv.Itoa(i), string(text))
		s.git(s.remote, "rev-parse", "refs/flame/run/a"+strconv.Itoa(i)+"/1")
	}
}
