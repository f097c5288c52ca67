package git_test

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/git"
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

// program returns git's program for serving by HTTP.
func program(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	require.NoError(t, err)
	path := filepath.Join(strings.TrimSpace(string(out)), name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("this git has no " + name)
	}
	return path
}

// user sets the user's own configuration of git.
func (r *repo) user(text string) {
	r.write("../user", text)
	r.t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(filepath.Dir(r.dir), "user"))
}

// script writes a program beside the repository.
func (r *repo) script(name, text string) (path string) {
	path = filepath.Join(filepath.Dir(r.dir), name)
	require.NoError(r.t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

// goesAndComes pushes to a remote, lists its refs, fetches into another repository and deletes a ref.
func goesAndComes(t *testing.T, r *repo, raw string) {
	remote, err := git.ParseRemote(raw)
	require.NoError(t, err)
	head, ref, other := r.plain("rev-parse", "HEAD"), "refs/flame/base/a", t.TempDir()
	require.NoError(t, git.InitEmpty(other, "sha1", false))
	require.NoError(t, git.Push(t.Context(), r.dir, remote, git.Update{Ref: ref, Commit: head}))
	got, err := git.Fetch(t.Context(), other, remote, ref)
	require.NoError(t, err)
	assert.Equal(t, head, got)
	require.NoError(t, git.Push(t.Context(), r.dir, remote, git.Update{Ref: ref}))
	refs, err := git.Refs(t.Context(), r.dir, remote, "refs/flame/")
	require.NoError(t, err)
	assert.Empty(t, refs)
}

func TestTheUsersCredentialsReachARemoteByHTTPS(t *testing.T) {
	r := newRepo(t)
	r.plain("-C", r.bare("remote.git").URL()[len("file://"):], "config", "http.receivepack", "true")
	backend := &cgi.Handler{
		Path: program(t, "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"}, Stderr: t.Output(),
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); user != "me" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	address := server.URL + "/remote.git"
	r.plain("config", "credential.helper", "!"+r.trap)
	r.plain("config", "http.proxy", "http://127.0.0.1:1")
	r.user("[http]\nsslVerify = false\n")
	t.Setenv("SSH_ASKPASS", r.trap)
	t.Setenv("GIT_ASKPASS", r.trap)
	t.Setenv("DISPLAY", ":0")
	remote, err := git.ParseRemote(address)
	require.NoError(t, err)
	_, err = git.Refs(t.Context(), r.dir, remote, "refs/flame/")
	assert.Contains(t, isProblem(t, err).Message, "could not read Username", "git asks no person")

	helper := r.script("helper", "echo username=me; echo password=secret\n")
	r.user("[http]\nsslVerify = false\n[credential]\nhelper = " + helper + "\n")
	goesAndComes(t, r, address)
	goesAndComes(t, r, strings.Replace(address, "https://", "https://me:secret@", 1))
	assert.NoFileExists(t, r.mark)
}

func TestTheUsersSSHReachesARemote(t *testing.T) {
	r := newRepo(t)
	dir := strings.TrimPrefix(r.bare("remote.git").URL(), "file://")
	// Its arguments are options, the host, and the command to run there.
	ssh := r.script("ssh", "for command; do :; done\ncase \"$*\" in *BatchMode=yes*) exec sh -c \"$command\";; esac\nexit 1\n")
	r.plain("config", "core.sshCommand", r.trap)
	r.user("[core]\nsshCommand = " + ssh + "\n")
	goesAndComes(t, r, "git@example.test:"+dir)
	goesAndComes(t, r, "ssh://me@example.test:22"+dir)
	assert.NoFileExists(t, r.mark)
}
