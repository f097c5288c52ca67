package changes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
)

func TestPatternsCoverRemotesHoweverTheyAreAddressed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, remote string
		want            bool
	}{
		{"github.com/me/*", "https://github.com/me/x.git", true},
		{"github.com/me/*", "ssh://git@github.com/me/x", true},
		{"github.com/me/*", "git@github.com:me/x.git", true},
		{"GitHub.com/me/*", "https://token@GITHUB.com:443/me/x/", true},
		{"https://github.com/me/*", "git@github.com:me/x.git", true},
		{"git@github.com:me/*", "https://github.com/me/x", true},
		{"ssh://git@github.com/me/x.git", "https://github.com/me/x", true},
		{"nas:2222/srv/*", "ssh://nas:2222/srv/x.git", true},
		{"nas/srv/*", "ssh://nas:2222/srv/x.git", false},
		{"*/me/*", "https://any.test/me/x", true},
		{"**", "https://any.test/me/deep/x", true},
		{"github.com/**", "https://github.com/me/deep/x", true},
		{"github.com/me/**", "https://github.com/you/x", false},
		{"github.com/me/**", "https://github.com/me", false},
		{"github.com/me/*", "https://github.com/me/deep/x", false},
		{"github.com/me/*", "https://github.com/meandyou/x", false},
		{"github.com/me/*", "https://github.com.evil.test/me/x", false},
		{"github.com/me/*", "https://evil.test/github.com/me/x", false},
		{"github.com/me/*", "https://github.com@evil.test/me/x", false},
		{"github.com/me/*", "https://github.com/me/../you/x", false},
		{"github.com/me/*", "https://github.com/me/%2e%2e", false},
		{"github.com/me/*", "ext::sh -c github.com/me/x", false},
		{"github.com/[", "https://github.com/[", false},
		{"", "https://github.com/me/x", false},
		{"file:/srv/*", "/srv/x.git", true},
		{"file:/srv/*", "file:///srv/x.git", true},
		{"file:///srv/*", "/srv/x.git", true},
		{"file:/srv/*", "/srv/deep/x.git", false},
		{"file:/srv/*", "/srv/../etc/x", false},
		{"**", "/srv/x.git", false},
		{"*", "/srv", false},
		{"*/*", "/srv", false},
		{"/srv/*", "/srv/x.git", false},
		{"file:**", "https://github.com/me/x", false},
	} {
		assert.Equal(t, tt.want, changes.Matches(tt.remote, []string{"other.test/x", tt.pattern}), "%s covers %s", tt.pattern, tt.remote)
	}
	assert.False(t, changes.Matches("https://github.com/me/x", nil))
}

func TestAnInvalidBaseIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	require.NoError(t, os.Symlink("/etc", filepath.Join(s.checkout, "link")))
	s.git(s.checkout, "add", "link")
	s.git(s.checkout, "commit", "--quiet", "--message", "link")
	good := s.give("a")
	s.git(s.checkout, "push", "--quiet", "origin", "HEAD~1:refs/flame/base/replaced")
	for name, tt := range map[string]struct {
		change func(*changes.Base)
		says   string
	}{
		"no pattern allows the remote":     {func(b *changes.Base) { b.Remote = "https://github.com/me/x.git" }, "--repos 'github.com/me/x'"},
		"a folder that no pattern allows":  {func(b *changes.Base) { b.Remote = "file://" + s.checkout }, "--repos 'file:"},
		"a remote that runs a program":     {func(b *changes.Base) { b.Remote = "ext::" + s.trap }, "flame does not use the address"},
		"a remote that is an option":       {func(b *changes.Base) { b.Remote = "--upload-pack=" + s.trap }, "flame does not use the address"},
		"a remote with a password":         {func(b *changes.Base) { b.Remote = "https://me:secret@github.com/me/x" }, "a user or a password"},
		"no remote":                        {func(b *changes.Base) { b.Remote = "" }, "it has no remote"},
		"a base that was not pushed":       {func(b *changes.Base) { b.Ref = "refs/flame/base/none" }, "could not be fetched"},
		"a base that was replaced":         {func(b *changes.Base) { b.Ref = "refs/flame/base/replaced" }, "not the requested commit"},
		"a commit that is a name":          {func(b *changes.Base) { b.Commit = "HEAD" }, "no full id"},
		"a commit that is an option":       {func(b *changes.Base) { b.Commit = "--output=" + s.mark }, "no full id"},
		"a commit that is short":           {func(b *changes.Base) { b.Commit = b.Commit[:12] }, "no full id"},
		"a repository that is a way":       {func(b *changes.Base) { b.Repository = "../../x" }, "no full id"},
		"a ref of a branch":                {func(b *changes.Base) { b.Ref = "refs/heads/main" }, "not one of flame's"},
		"a ref with a destination":         {func(b *changes.Base) { b.Ref += ":refs/heads/main" }, "not one of flame's"},
		"a ref with a path":                {func(b *changes.Base) { b.Ref = "refs/flame/base/../../heads/main" }, "not one of flame's"},
		"a folder above":                   {func(b *changes.Base) { b.Prefix = "../x" }, "not in the repository"},
		"a folder anywhere":                {func(b *changes.Base) { b.Prefix = "/etc" }, "not in the repository"},
		"a folder by way of another":       {func(b *changes.Base) { b.Prefix = "sub/../sub" }, "not in the repository"},
		"a folder that a link leads to":    {func(b *changes.Base) { b.Prefix = "link" }, "no folder link"},
		"a folder that is not there":       {func(b *changes.Base) { b.Prefix = "none" }, "no folder none"},
		"a folder that is a file":          {func(b *changes.Base) { b.Prefix = "changed" }, "no folder changed"},
		"a commit that is another's (tag)": {func(b *changes.Base) { b.Commit = strings.Repeat("a", 40) }, "not the requested commit"},
	} {
		t.Run(name, func(t *testing.T) {
			b := good
			tt.change(&b)
			_, err := s.worker.Take(t.Context(), s.dir("one"), b)
			assert.Contains(t, advice(t, err), tt.says)
			assert.NotContains(t, err.Error(), "secret")
			assert.NoDirExists(t, s.dir("one"))
		})
	}
	s.take("one", good)
	assert.NoFileExists(t, s.mark)
}

// arm makes a repository run the trap wherever git can be had to.
func (s *scene) arm(repository string) {
	s.t.Helper()
	gitDir := filepath.Join(repository, ".git")
	for _, hook := range strings.Fields(`pre-push reference-transaction post-checkout post-index-change pre-commit commit-msg post-commit pre-auto-gc
		pre-receive update post-receive post-update`) {
		s.writeAt(filepath.Join(gitDir, "hooks", hook), "#!/bin/sh\n"+s.trap+"\n")
		require.NoError(s.t, os.Chmod(filepath.Join(gitDir, "hooks", hook), 0o700))
	}
	s.writeAt(filepath.Join(gitDir, "info", "attributes"), "* filter=x diff=x\n")
	for _, pair := range [][2]string{
		{"core.fsmonitor", s.trap}, {"core.sshCommand", s.trap}, {"core.hooksPath", filepath.Join(gitDir, "hooks")}, {"core.askPass", s.trap},
		{"filter.x.clean", s.trap + "; cat"}, {"filter.x.smudge", s.trap + "; cat"}, {"filter.x.required", "true"}, {"diff.x.textconv", s.trap},
		{"diff.x.command", s.trap}, {"credential.helper", "!" + s.trap}, {"remote.origin.uploadpack", s.trap}, {"remote.origin.receivepack", s.trap},
		{"url.ext::" + s.trap + " .insteadOf", "/"}, {"url.ext::" + s.trap + "  .insteadOf", "file://"}, {"protocol.allow", "always"},
		{"protocol.ext.allow", "always"}, {"alias.push", "!" + s.trap}, {"alias.status", "!" + s.trap}, {"gpg.program", s.trap}, {"commit.gpgSign", "true"},
		{"push.gpgSign", "true"}, {"core.alternateRefsCommand", s.trap}, {"core.pager", s.trap}, {"core.editor", s.trap}, {"gc.auto", "1"},
	} {
		s.git(repository, "config", "--file", filepath.Join(gitDir, "config"), "--add", pair[0], pair[1])
	}
}

func TestNothingOfARepositoryRunsOnEitherMachine(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("new", "new\n")
	s.commit()
	s.arm(s.checkout)
	_, _ = s.try(s.checkout, "status")
	require.FileExists(t, s.mark, "the traps are broken")
	require.NoError(t, os.Remove(s.mark))

	before := s.state()
	b := s.give("a")
	s.take("one", b)
	mirrors, err := filepath.Glob(filepath.Join(s.worker.Dir, "*"))
	require.NoError(t, err)
	require.Len(t, mirrors, 1)
	s.arm(mirrors[0]) // as an agent could
	s.writeAt(filepath.Join(s.dir("one"), "new"), "newer\n")
	s.writeAt(filepath.Join(s.dir("one"), ".gitattributes"), "* filter=x\n")
	result, err := s.worker.Return(t.Context(), s.dir("one"), b, "a", 1, filepath.Join(s.base, "patch"))
	require.NoError(t, err)
	assert.Len(t, result.Changes, 2)
	s.take("two", b)
	s.give("b")
	_, err = changes.Uncommitted(t.Context(), s.checkout)
	require.NoError(t, err)
	require.NoError(t, changes.Forget(t.Context(), s.checkout, []string{"a", "b"}, s.folders))
	assert.Equal(t, before, s.state())
	told, _ := os.ReadFile(s.mark)
	assert.Empty(t, string(told), "a trap sprang")
}

func TestAWorktreeThatLeadsElsewhereIsNotReturned(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.give("a")
	private := filepath.Join(s.base, "private")
	s.git(s.base, "clone", "--quiet", s.checkout, private)
	for name, change := range map[string]func(dir string){
		"to another repository": func(dir string) { s.writeAt(filepath.Join(dir, ".git"), "gitdir: "+private+"/.git\n") },
		"to a new one": func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, ".git")))
			s.git(dir, "init", "--quiet", ".")
		},
		"by a link": func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, ".git")))
			require.NoError(t, os.Symlink(filepath.Join(private, ".git"), filepath.Join(dir, ".git")))
		},
		"by git's files about it": func(dir string) {
			s.writeAt(filepath.Join(s.git(dir, "rev-parse", "--git-dir"), "commondir"), private+"/.git\n")
		},
		"to the repository of the mirror itself": func(dir string) {
			s.writeAt(filepath.Join(dir, ".git"), "gitdir: "+filepath.Join(s.mirrors()[0], ".git")+"\n")
			s.git(dir, "config", "core.worktree", private)
		},
		"to other files": func(dir string) {
			s.git(dir, "config", "extensions.worktreeConfig", "true")
			s.git(dir, "config", "--worktree", "core.worktree", private)
		},
	} {
		dir := strings.ReplaceAll(name, " ", "-")
		s.take(dir, b)
		change(s.dir(dir))
		_, err := s.worker.Return(t.Context(), s.dir(dir), b, "a", 1, filepath.Join(s.base, "patch"))
		assert.Contains(t, advice(t, err), "does not belong", name)
	}
	assert.Equal(t, "refs/flame/base/a", s.refs(s.remote))
}

func TestAHistoryOutsideOfTheBaseIsNotReturned(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.give("a")
	s.take("one", b)
	s.writeAt(filepath.Join(s.dir("one"), "secret"), "of another\n")
	s.git(s.dir("one"), "checkout", "--quiet", "--orphan", "other")
	s.git(s.dir("one"), "add", "--all")
	s.git(s.dir("one"), "commit", "--quiet", "--message", "of another")
	require.NoError(t, os.Remove(filepath.Join(s.dir("one"), "secret")))
	s.writeAt(filepath.Join(s.dir("one"), "new"), "new\n")
	result, err := s.worker.Return(t.Context(), s.dir("one"), b, "a", 1, filepath.Join(s.base, "patch"))
	require.NoError(t, err)
	assert.Equal(t, b.Commit, s.git(s.remote, "rev-parse", result.Ref+"~1"))
}

func TestACheckoutWhoseFilesAreElsewhereIsNotGiven(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.writeAt(filepath.Join(s.base, "key"), "secret\n")
	for _, elsewhere := range []string{s.base, filepath.Join(s.checkout, "sub")} {
		s.git(s.base, "config", "--file", filepath.Join(s.checkout, ".git", "config"), "core.worktree", elsewhere)
		_, err := changes.Give(t.Context(), s.checkout, "a", s.folders)
		assert.Error(t, err, elsewhere)
	}
	assert.Empty(t, s.refs(s.remote))
}
