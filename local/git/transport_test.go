package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/git"
	"flame/tests/effort"
)

// bare makes a bare repository beside the repository.
func (r *repo) bare(name string) git.Remote {
	dir := filepath.Join(filepath.Dir(r.dir), name)
	r.plain("init", "--quiet", "--bare", "--template=", dir)
	remote, err := git.ParseRemote(dir)
	require.NoError(r.t, err)
	return remote
}

// transport does everything that connects to a remote.
func transport(r *repo, to git.Remote, head string) (errs []error) {
	t := r.t
	ref := "refs/flame/base/a"
	errs = append(errs, git.Push(t.Context(), r.dir, to, git.Update{Ref: ref, Commit: head}))
	_, err := git.Refs(t.Context(), r.dir, to, "refs/flame/")
	errs = append(errs, err)
	_, err = git.Fetch(t.Context(), r.dir, to, ref)
	errs = append(errs, err, git.Push(t.Context(), r.dir, to, git.Update{Ref: ref}))
	_, _, err = git.Remotes(t.Context(), r.dir)
	errs = append(errs, err)
	_, err = git.Snapshot(t.Context(), r.dir, head, "all")
	return append(errs, err)
}

func TestTheSettingsOfARemoteRunNoPrograms(t *testing.T) {
	for name, tt := range trapsIn(t, "transport.txtar") {
		t.Run(name, func(t *testing.T) {
			arm := func() (*repo, git.Remote) {
				r := newRepo(t)
				remote := r.bare("remote.git")
				r.plain("remote", "add", "origin", remote.URL())
				return r.arm(tt), remote
			}
			control, _ := arm()
			out, _ := control.try("git", tt.springs...)
			if tt.is != "screen" { // present versions of git ignore the others
				require.FileExists(t, control.mark, "the trap is broken: plain git says %s", out)
			}
			r, remote := arm()
			for _, err := range transport(r, remote, r.plain("rev-parse", "HEAD")) {
				require.NoError(t, err)
			}
			told, _ := os.ReadFile(r.mark)
			assert.Empty(t, string(told), "the trap ran")
		})
	}
}

func TestARepositoryCannotMakeATransportRunPrograms(t *testing.T) {
	effort.Heavy(t)
	for name, tt := range trapsIn(t, "traps.txtar") {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			remote, head := r.bare("remote.git"), r.plain("rev-parse", "HEAD")
			transport(r.arm(tt), remote, head)
			told, _ := os.ReadFile(r.mark)
			assert.Empty(t, string(told), "the trap ran")
		})
	}
}

// Transports use the credentials, the ssh and the addresses of the user's own configuration.
func TestTransportsUseTheUsersConfiguration(t *testing.T) {
	r := newRepo(t)
	user := filepath.Join(filepath.Dir(r.dir), "user")
	ssh := filepath.Join(filepath.Dir(r.dir), "ssh")
	require.NoError(t, os.WriteFile(ssh, []byte("#!/bin/sh\necho \"$*\" >>"+r.mark+"\nexit 1\n"), 0o700))
	require.NoError(t, os.WriteFile(user, []byte("[core]\nsshCommand = "+ssh+" -i key\n[url \"ssh://example.test/\"]\ninsteadOf = https://short.test/\n"), 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", user)
	for _, raw := range []string{"git@example.test:me/x", "https://short.test/me/x"} {
		require.NoError(t, os.RemoveAll(r.mark))
		remote, err := git.ParseRemote(raw)
		require.NoError(t, err)
		_, err = git.Fetch(t.Context(), r.dir, remote, "refs/flame/base/a")
		isProblem(t, err)
		told, err := os.ReadFile(r.mark)
		require.NoError(t, err)
		assert.Contains(t, string(told), "-i key -oBatchMode=yes")
		assert.Contains(t, string(told), "example.test")
	}
}

func TestErrorsContainNoPassword(t *testing.T) {
	r := newRepo(t)
	remote, err := git.ParseRemote("https://me:secret@127.0.0.1:1/me/x.git")
	require.NoError(t, err)
	_, err = git.Fetch(t.Context(), r.dir, remote, "refs/flame/base/a")
	assert.NotContains(t, isProblem(t, err).Message, "secret")
	assert.NotContains(t, remote.URL()+remote.Name(), "secret")
	_, err = git.ParseRemote("https://me:secret@x y/z")
	assert.NotContains(t, isProblem(t, err).Message, "secret")
}

func TestRemotesHaveOneMeaning(t *testing.T) {
	good := map[string][2]string{ // URL, name
		"https://github.com/me/x.git":          {"https://github.com/me/x.git", "github.com/me/x"},
		"https://token@GitHub.com:443/me/x/":   {"https://GitHub.com:443/me/x/", "github.com/me/x"},
		"https://a@b.test@github.com/me/x":     {"https://github.com/me/x", "github.com/me/x"},
		"https://dev.test/me/My%20Project/x":   {"https://dev.test/me/My%20Project/x", "dev.test/me/My Project/x"},
		"ssh://git@github.com:22/me/x.git":     {"ssh://git@github.com:22/me/x.git", "github.com/me/x"},
		"ssh://me@nas.test:2222/srv/x.git":     {"ssh://nas.test:2222/srv/x.git", "nas.test:2222/srv/x"},
		"git@github.com:me/x.git":              {"git@github.com:me/x.git", "github.com/me/x"},
		"nas:/srv/x":                           {"nas:/srv/x", "nas/srv/x"},
		"https://[::1]:8443/me/x":              {"https://[::1]:8443/me/x", "[::1]:8443/me/x"},
		"/srv/x.git":                           {"file:///srv/x.git", "file:/srv/x"},
		"file:///srv/x.git":                    {"file:///srv/x.git", "file:/srv/x"},
		"https://github.com/me/x.git.git":      {"https://github.com/me/x.git.git", "github.com/me/x.git"},
		"ssh://git@github.com/~me/x":           {"ssh://git@github.com/~me/x", "github.com/~me/x"},
		"org-1@github.com:me/x":                {"github.com:me/x", "github.com/me/x"},
		"https://x:y%40z@github.com/me/x.git/": {"https://github.com/me/x.git/", "github.com/me/x"},
	}
	for raw, want := range good {
		r, err := git.ParseRemote(raw)
		if assert.NoError(t, err, raw) {
			assert.Equal(t, want, [2]string{r.URL(), r.Name()}, raw)
		}
	}
	for _, raw := range []string{
		"", "x", "./x", "../x", "ext::sh -c true", "ext::https://github.com/me/x", "git://github.com/me/x", "http://github.com/me/x",
		"--upload-pack=true", "-oProxyCommand=x:y", "ssh://-oProxyCommand=x/y", "git@-x:y", "-x@github.com:y", "ssh://-x@github.com/y", "https://github.com",
		"https://github.com/", "https://github.com/me/../you", "https://github.com/me/%2e%2e/you", "https://github.com/me/..%2fyou", "https://github.com//x",
		"https://github.com/me/x?token=y", "https://github.com/me/x#y", "https://github.com/me/x\n", "https://github.com\\@evil.test/x", "fd::17",
		"https://git hub.com/me/x", "file://host/x", "/srv/../etc", "/srv/x\n", "C:\\x", "github.com::x", "host:-x", "https://x/%zz", "ssh://x/-y",
	} {
		_, err := git.ParseRemote(raw)
		assert.Error(t, err, "%q", raw)
	}
}

func TestATransportRefusesOptionsAndOddRefs(t *testing.T) {
	r := newRepo(t)
	remote, head := r.bare("remote.git"), r.plain("rev-parse", "HEAD")
	for _, ref := range []string{
		"", "main", "--all", "refs", "refs/../x", "refs/x:refs/heads/main", "refs/x*", "refs/-x", "refs/x.lock", "+refs/x", "refs/x\n", "refs//x",
	} {
		_, err := git.Fetch(t.Context(), r.dir, remote, ref)
		isProblem(t, err)
		isProblem(t, git.Push(t.Context(), r.dir, remote, git.Update{Ref: ref, Commit: head}))
	}
	for _, id := range []string{"HEAD", "main", "--all", head[:12], strings.ToUpper(head), head + "\n", head + "~1"} {
		isProblem(t, git.Push(t.Context(), r.dir, remote, git.Update{Ref: "refs/flame/x", Commit: id}))
		_, err := git.Snapshot(t.Context(), r.dir, id, "x")
		isProblem(t, err)
	}
}

// A hook may have started flame, or a person with own filters.
func TestTheEnvironmentCannotMakeGitRunPrograms(t *testing.T) {
	effort.Heavy(t)
	for name, tt := range trapsIn(t, "environ.txtar") {
		t.Run(name, func(t *testing.T) {
			control, r := newRepo(t).arm(tt), newRepo(t).arm(tt)
			control.surround(tt.env)
			out, _ := control.try("git", tt.springs...)
			require.FileExists(t, control.mark, "the trap is broken: plain git says %s", out)
			r.surround(tt.env)
			require.NoError(t, everything(r))
			assert.NoFileExists(t, r.mark)
		})
	}
}

// surround sets variables of the environment.
func (r *repo) surround(variables []string) {
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		r.t.Setenv(name, strings.NewReplacer("$TRAP", r.trap, "$MARK", r.mark, "$DIR", r.dir).Replace(value))
	}
}

func TestGitLeavesNoTemporaryFiles(t *testing.T) {
	r := newRepo(t)
	t.Setenv("TMPDIR", t.TempDir())
	require.NoError(t, everything(r))
	_, err := git.Run(t.Context(), filepath.Join(r.dir, "nowhere"), "status")
	require.Error(t, err)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left)
	t.Setenv("TMPDIR", filepath.Join(r.dir, "nowhere"))
	_, err = git.Run(t.Context(), r.dir, "status")
	require.ErrorContains(t, err, "keeps git quiet", "git is not run without")
}

// A folder of a project that has the looks of a bare repository is one to git.
func TestAnImplicitBareRepositoryIsNotUsed(t *testing.T) {
	arm := func() *repo {
		r := newRepo(t)
		require.NoError(t, os.Rename(filepath.Join(r.dir, ".git"), filepath.Join(r.dir, "folder", "docs")))
		r.plain("init", "--quiet", ".")
		r.dir = filepath.Join(r.dir, "folder", "docs")
		r.write("config", "[core]\nrepositoryFormatVersion = 0\nbare = false\nworktree = ..\nfsmonitor = "+r.trap+"\n")
		return r
	}
	control := arm()
	out, _ := control.try("git", "status")
	require.FileExists(t, control.mark, "the trap is broken: plain git says %s", out)

	r := arm()
	require.Error(t, everything(r))
	assert.NoFileExists(t, r.mark)
	_, err := git.Run(t.Context(), r.dir, "rev-parse", "--git-dir")
	assert.Contains(t, isProblem(t, err).Message, "bare repository")
	first, err := git.FirstCommit(t.Context(), r.dir)
	require.NoError(t, err)
	assert.Empty(t, first)
}
