package git_test

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/git"
)

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
