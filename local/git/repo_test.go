package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain hides the user's own configuration of git from the tests.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	code := m.Run()
	_ = os.RemoveAll(origin.dir) // a leftover does no harm
	os.Exit(code)
}

// A repo is a repository with two commits and a file of each kind: changed, touched, new,
// ignored.
type repo struct {
	t    *testing.T
	dir  string
	mark string // file that the trap writes
	trap string // program that no call of flame may start
}

// origin is the repository that tests copy: git needs seven processes to make one.
var origin struct {
	once sync.Once
	dir  string
}

// makeOrigin makes the origin, without git's sample hooks.
func makeOrigin(t *testing.T) {
	dir, err := os.MkdirTemp("", "flame-test-")
	require.NoError(t, err)
	origin.dir = dir
	r := &repo{t: t, dir: dir}
	r.plain("init", "--quiet", "--initial-branch=main", "--template=", ".")
	r.write("changed", "one\n")
	r.write("touched", "one\n")
	r.commit("first")
	r.write("folder/file", "one\n")
	r.write(".gitignore", "*.log\n")
	r.commit("second")
}

func newRepo(t *testing.T) *repo {
	origin.once.Do(func() { makeOrigin(t) })
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &repo{t: t, dir: filepath.Join(base, "repo"), mark: filepath.Join(base, "sprung"), trap: filepath.Join(base, "trap")}
	require.NoError(t, os.WriteFile(r.trap, []byte("#!/bin/sh\necho \"$0 $*\" >>"+r.mark+"\n"), 0o700))
	require.NoError(t, os.CopyFS(r.dir, os.DirFS(origin.dir)))
	r.plain("update-index", "--refresh") // the index has inodes
	r.disturb(r.dir)
	return r
}

// disturb changes files of a checkout, so that git reads them again.
func (r *repo) disturb(dir string) {
	for name, text := range map[string]string{"changed": "one\ntwo\n", "new": "new\n", "ignored.log": "log\n"} {
		was, _ := os.ReadFile(filepath.Join(dir, name))
		require.NoError(r.t, os.WriteFile(filepath.Join(dir, name), append(was, text...), 0o600))
	}
	later := time.Now().Add(time.Minute)
	require.NoError(r.t, os.Chtimes(filepath.Join(dir, "touched"), later, later))
}

func (r *repo) write(path, text string) {
	full := filepath.Join(r.dir, path)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(full), 0o700))
	require.NoError(r.t, os.WriteFile(full, []byte(text), 0o600))
}

func (r *repo) commit(message string) {
	r.plain("add", "--all")
	r.plain("commit", "--quiet", "--allow-empty", "--message", message)
}

// recommit commits all files, and disturbs the checkout.
func recommit(r *repo) {
	r.commit("all")
	r.disturb(r.dir)
}

// plain runs git without flame's protection.
func (r *repo) plain(args ...string) string {
	out, err := r.try("git", args...)
	require.NoError(r.t, err, out)
	return strings.TrimSpace(out)
}

// try runs a program in the repository.
func (r *repo) try(program string, args ...string) (string, error) {
	require.NoError(r.t, os.MkdirAll(r.dir, 0o700))
	cmd := exec.Command(program, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "TRAP="+r.trap, "MARK="+r.mark)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
