package changes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/changes"
	"flame/tests/cases"
	"flame/tests/effort"
)

func TestGiveAcceptsCheckoutsOfEveryKind(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	for name, prepare := range map[string]func(s *scene){
		"plain":              func(*scene) {},
		"with a split index": func(s *scene) { s.git(s.checkout, "update-index", "--split-index") },
		"with an untracked cache": func(s *scene) {
			s.git(s.checkout, "update-index", "--force-untracked-cache")
		},
		"in a linked worktree": func(s *scene) {
			s.git(s.checkout, "worktree", "add", "--quiet", "-b", "linked", "../linked")
			s.checkout = filepath.Join(s.base, "linked")
		},
		"of another kind of ids": func(s *scene) {
			for _, dir := range []string{filepath.Join(s.checkout, ".git"), s.remote} {
				require.NoError(s.t, os.RemoveAll(dir))
			}
			s.git(s.checkout, "init", "--quiet", "--object-format=sha256")
			s.git(s.base, "init", "--quiet", "--bare", "--object-format=sha256", s.remote)
			s.git(s.checkout, "remote", "add", "origin", s.remote)
			s.git(s.checkout, "add", "sub", "changed")
			s.git(s.checkout, "commit", "--quiet", "--message", "first")
		},
		"with a repository inside, which does not go along": func(s *scene) {
			s.git(s.checkout, "clone", "--quiet", ".", "mod")
			s.git(s.checkout, "add", "mod")
			s.git(s.checkout, "commit", "--quiet", "--message", "mod")
			s.write("mod/more", "more\n")
		},
		"partial": func(s *scene) {
			s.git(s.checkout, "push", "--quiet", "origin", "main")
			s.git(s.remote, "config", "uploadpack.allowFilter", "true")
			s.git(s.base, "clone", "--quiet", "--filter=blob:none", "--branch=main", "file://"+s.remote, "partial")
			s.checkout = filepath.Join(s.base, "partial")
		},
		"with another remote, which the branch follows": func(s *scene) {
			s.git(s.checkout, "remote", "rename", "origin", "theirs")
			s.git(s.checkout, "push", "--quiet", "--set-upstream", "theirs", "main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.write("new", "new\n")
			prepare(s)
			s.write("new", "newer\n")
			require.NoError(t, os.RemoveAll(filepath.Join(s.checkout, ".gitignore")))
			s.commit()
			status, before := s.git(s.checkout, "-c", "core.fsmonitor=", "--no-optional-locks", "status"), s.state()
			head := s.git(s.checkout, "reflog", "--all")
			b := s.give("a")
			assert.Equal(t, before, s.state())
			assert.Equal(t, head, s.git(s.checkout, "reflog", "--all"))
			assert.Equal(t, status, s.git(s.checkout, "--no-optional-locks", "status"))
			s.take("one", b)
			for _, file := range []string{"new", "changed", "sub/file"} {
				want, err := os.ReadFile(filepath.Join(s.checkout, file))
				require.NoError(t, err)
				got, err := os.ReadFile(filepath.Join(s.dir("one"), file))
				require.NoError(t, err)
				assert.Equal(t, string(want), string(got), file)
			}
			assert.NoFileExists(t, filepath.Join(s.dir("one"), ".gitignore"))
			assert.NoFileExists(t, filepath.Join(s.dir("one"), "mod", "more"))
			s.writeAt(filepath.Join(s.dir("one"), "changed"), "by the agent\n")
			result, err := s.worker.Collect(t.Context(), s.dir("one"), b, "a", 1, filepath.Join(s.base, "patch"))
			require.NoError(t, err)
			assert.Len(t, result.Changes, 1)
			s.git(s.checkout, "apply", "--check", filepath.Join(s.base, "patch"))
		})
	}
}

func TestErrorsOfGiveSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(s *scene)
		id      string
		says    string
	}{
		"without a commit": {func(s *scene) { s.git(s.checkout, "checkout", "--quiet", "--orphan", "new") }, "a", "commit something first"},
		"outside of git":   {func(s *scene) { require.NoError(s.t, os.RemoveAll(filepath.Join(s.checkout, ".git"))) }, "a", "git repository"},
		"of no depth": {func(s *scene) {
			s.git(s.base, "clone", "--quiet", "--depth=1", "file://"+s.checkout, "shallow")
			s.checkout = filepath.Join(s.base, "shallow")
		}, "a", "--unshallow"},
		"with a remote that is gone": {func(s *scene) { require.NoError(s.t, os.RemoveAll(s.remote)) }, "a", "git push works"},
		"with a remote that runs a program": {func(s *scene) {
			s.git(s.checkout, "config", "remote.origin.url", "ext::"+s.trap)
		}, "a", "git remote add"},
		"without a remote":                         {func(s *scene) { s.git(s.checkout, "remote", "remove", "origin") }, "a", "git remote add"},
		"with a remote that is a forbidden folder": {func(s *scene) { s.folders = nil }, "a", "git remote add"},
		"with an id that leads elsewhere":          {func(*scene) {}, "../../heads/main", "letters"},
		"with an id that says where to":            {func(*scene) {}, "a:refs/heads/main", "letters"},
		"without an id":                            {func(*scene) {}, "", "letters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			tt.prepare(s)
			_, err := changes.Export(t.Context(), s.checkout, tt.id, s.folders)
			assert.Contains(t, cases.Advice(t, err), tt.says)
			assert.NoFileExists(t, s.mark)
		})
	}
}

func TestABaseHasNoPassword(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git(s.checkout, "config", "remote.origin.url", "https://me:secret@github.com/me/x.git")
	s.git(s.checkout, "config", "remote.origin.pushurl", s.remote)
	b := s.give("a")
	assert.Equal(t, "https://github.com/me/x.git", b.Remote)
}

// Two users on two machines have configurations of their own, with filters and hooks
// that flame does not run either, and are asked for nothing.
func TestTwoUsersHaveTheirOwnConfigurations(t *testing.T) {
	s := newScene(t)
	os.Unsetenv("GIT_CONFIG_GLOBAL")
	t.Cleanup(func() { os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull) })
	home := func(name, more string) {
		dir := filepath.Join(s.base, name)
		filters := strings.ReplaceAll("[filter \"lfs\"]\nclean = TRAP\nsmudge = TRAP\nprocess = TRAP\nrequired = true\n[core]\nfsmonitor = TRAP\n", "TRAP", s.trap)
		s.writeAt(filepath.Join(dir, ".gitconfig"), filters+more)
		t.Setenv("HOME", dir)
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, ".config"))
	}
	s.write(".gitattributes", "*.bin filter=lfs\n")
	s.write("large.bin", "content\n")
	s.commit()
	home("asker", "[commit]\ngpgSign = true\n[push]\ngpgSign = true\n[core]\nhooksPath = "+s.base+"\n")
	_, _ = s.try(s.checkout, "status")
	require.FileExists(t, s.mark, "the trap is broken")
	require.NoError(t, os.Remove(s.mark))
	b := s.give("a")
	home("worker", "[fetch]\nprune = true\n[transfer]\nfsckObjects = true\n[init]\ndefaultBranch = x\n")
	s.take("one", b)
	s.writeAt(filepath.Join(s.dir("one"), "large.bin"), "larger\n")
	result, err := s.worker.Collect(t.Context(), s.dir("one"), b, "a", 1, filepath.Join(s.base, "patch"))
	require.NoError(t, err)
	assert.Equal(t, "larger", s.git(s.remote, "show", result.Ref+":large.bin"))
	assert.NoFileExists(t, s.mark)
}

func TestThePatchIsWrittenEvenIfThePushFails(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.give("a")
	s.take("one", b)
	s.writeAt(filepath.Join(s.dir("one"), "changed"), "by the agent\n")
	require.NoError(t, os.RemoveAll(s.remote))
	patch := filepath.Join(s.base, "patch")
	result, err := s.worker.Collect(t.Context(), s.dir("one"), b, "a", 1, patch)
	assert.Contains(t, cases.Advice(t, err), "the patch has them")
	assert.Len(t, result.Changes, 1)
	s.git(s.checkout, "apply", "--check", patch)
}

func TestForgetDeletesTheRefsOfTheseAgents(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git(s.checkout, "push", "--quiet", "origin", "main")
	for _, ref := range []string{"base/a", "base/ab", "run/a/1", "run/a/2", "run/ab/1", "run/b/1", "other/a"} {
		s.git(s.checkout, "push", "--quiet", "origin", "HEAD:refs/flame/"+ref)
	}
	s.git(s.checkout, "fetch", "--quiet", "origin", "refs/flame/*:refs/flame/*")
	before := s.git(s.checkout, "log", "--format=%H", "main")
	require.NoError(t, changes.Forget(t.Context(), s.checkout, []string{"a", "b", "none"}, s.folders))
	want := strings.Join([]string{"refs/flame/base/ab", "refs/flame/other/a", "refs/flame/run/ab/1", "refs/heads/main"}, "\n")
	assert.Equal(t, want, s.refs(s.remote))
	assert.Equal(t, strings.Replace(want, "refs/heads/main", "refs/heads/main\nrefs/remotes/origin/main", 1), s.refs(s.checkout))
	assert.Equal(t, before, s.git(s.checkout, "log", "--format=%H", "main"))
	require.NoError(t, changes.Forget(t.Context(), s.checkout, []string{"a"}, s.folders), "once more")
	assert.Contains(t, cases.Advice(t, changes.Forget(t.Context(), s.checkout, []string{"*"}, s.folders)), "letters")
	require.NoError(t, os.RemoveAll(s.remote))
	assert.Contains(t, cases.Advice(t, changes.Forget(t.Context(), s.checkout, []string{"a"}, s.folders)), "could not be deleted")
}
