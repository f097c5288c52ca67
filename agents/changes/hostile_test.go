package changes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/tests/cases"
)

func TestPatternsCoverRemotesHoweverTheyAreAddressed(t *testing.T) {
	t.Parallel()
	for pattern, remotes := range cases.Read[map[string][]string](t, "testdata/patterns.yaml") {
		for which, list := range remotes {
			for _, remote := range list {
				assert.Equal(t, which == "covers", changes.Matches(remote, []string{"other.test/x", pattern}), "%q: %s", pattern, remote)
			}
		}
	}
	assert.False(t, changes.Matches("https://github.com/me/x", nil))
}

// TestAnInvalidBaseIsRefused also checks that it leaves no mirror, nor replaces a good one.
func TestAnInvalidBaseIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	require.NoError(t, os.Symlink("/etc", filepath.Join(s.checkout, "link")))
	s.commit()
	good := s.give("a")
	s.git(s.checkout, "push", "--quiet", "origin", "HEAD~1:refs/flame/base/replaced")
	paths := strings.NewReplacer("CHECKOUT", s.checkout, "TRAP", s.trap, "MARK", s.mark)
	for _, mirrors := range []int{0, 1} {
		for name, tt := range cases.Read[struct {
			Base       json.RawMessage `json:"base"` // how it differs from a good one
			Says       string          `json:"says"`
			CheckedOut bool            `json:"checkedOut"` // it is found out in a worktree
		}](t, "testdata/bases.yaml") {
			if tt.CheckedOut && mirrors == 0 {
				continue
			}
			b := good
			require.NoError(t, json.Unmarshal([]byte(paths.Replace(string(tt.Base))), &b))
			_, err := s.worker.Checkout(t.Context(), s.dir("bad"), b)
			assert.Contains(t, cases.Advice(t, err), tt.Says, name)
			assert.NotContains(t, err.Error(), "secret")
			assert.NoDirExists(t, s.dir("bad"))
			left, _ := os.ReadDir(s.worker.Dir) // usually empty
			assert.Len(t, left, mirrors, name)
		}
		s.take(fmt.Sprint("good", mirrors), good)
	}
	require.NoError(t, os.Rename(s.remote, s.remote+".away"))
	_, err := s.worker.Checkout(t.Context(), s.dir("bad"), good)
	assert.Contains(t, cases.Advice(t, err), "could not be fetched")
	assert.Len(t, s.mirrors(), 1, "the remote is away")
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
	result, err := s.worker.Collect(t.Context(), s.dir("one"), b, "a", 1, filepath.Join(s.base, "patch"))
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
		_, err := s.worker.Collect(t.Context(), s.dir(dir), b, "a", 1, filepath.Join(s.base, "patch"))
		assert.Contains(t, cases.Advice(t, err), "does not belong", name)
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
	result, err := s.worker.Collect(t.Context(), s.dir("one"), b, "a", 1, filepath.Join(s.base, "patch"))
	require.NoError(t, err)
	assert.Equal(t, b.Commit, s.git(s.remote, "rev-parse", result.Ref+"~1"))
}

func TestACheckoutWhoseFilesAreElsewhereIsNotGiven(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.writeAt(filepath.Join(s.base, "key"), "secret\n")
	for _, elsewhere := range []string{s.base, filepath.Join(s.checkout, "sub")} {
		s.git(s.base, "config", "--file", filepath.Join(s.checkout, ".git", "config"), "core.worktree", elsewhere)
		_, err := changes.Export(t.Context(), s.checkout, "a", s.folders)
		assert.Error(t, err, elsewhere)
	}
	assert.Empty(t, s.refs(s.remote))
}
