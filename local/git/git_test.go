package git_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/local/git"
)

func TestTheFirstCommitIdentifiesARepository(t *testing.T) {
	root := func(r *repo) string {
		return r.plain("rev-list", "--max-parents=0", "--first-parent", "HEAD")
	}
	for name, prepare := range map[string]func(r *repo) (dir, want string){
		"of two commits it is the older": func(r *repo) (string, string) {
			return r.dir, r.plain("rev-parse", "HEAD~1")
		},
		"a folder in the repository has the same": func(r *repo) (string, string) {
			return filepath.Join(r.dir, "folder"), root(r)
		},
		"a clone has the same": func(r *repo) (string, string) {
			r.plain("clone", "--quiet", ".", "../clone")
			return filepath.Join(r.dir, "..", "clone"), root(r)
		},
		"a worktree has the same": func(r *repo) (string, string) {
			r.plain("worktree", "add", "--quiet", "--detach", "../tree")
			return filepath.Join(r.dir, "..", "tree"), root(r)
		},
		"another history that is merged in does not change it": func(r *repo) (string, string) {
			was := root(r)
			r.plain("checkout", "--quiet", "--force", "--orphan", "other")
			r.commit("elsewhere")
			r.plain("checkout", "--quiet", "--force", "main")
			r.plain("merge", "--quiet", "--allow-unrelated-histories", "--strategy=ours", "--message", "merge", "other")
			require.Len(r.t, strings.Fields(r.plain("rev-list", "--max-parents=0", "HEAD")), 2)
			return r.dir, was
		},
		"a replaced commit counts as it was made": func(r *repo) (string, string) {
			was := root(r)
			r.plain("replace", "--graft", "HEAD")
			require.NotEqual(r.t, was, root(r))
			return r.dir, was
		},
		"hashes may be of another kind": func(r *repo) (string, string) {
			require.NoError(r.t, os.RemoveAll(filepath.Join(r.dir, ".git")))
			r.plain("init", "--quiet", "--object-format=sha256")
			r.commit("first")
			require.Len(r.t, root(r), 64)
			return r.dir, root(r)
		},
		"a shallow clone has none": func(r *repo) (string, string) {
			r.plain("clone", "--quiet", "--depth=1", "file://"+r.dir, "../shallow")
			return filepath.Join(r.dir, "..", "shallow"), ""
		},
		"a repository without commits has none": func(r *repo) (string, string) {
			r.plain("checkout", "--quiet", "--orphan", "new")
			return r.dir, ""
		},
		"a folder that is no repository has none": func(r *repo) (string, string) {
			require.NoError(r.t, os.RemoveAll(filepath.Join(r.dir, ".git")))
			return r.dir, ""
		},
		"a bare repository that nobody named has none": func(r *repo) (string, string) {
			r.plain("clone", "--quiet", "--bare", ".", "../bare")
			return filepath.Join(r.dir, "..", "bare"), ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, want := prepare(newRepo(t))
			got, err := git.FirstCommit(t.Context(), dir)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestAFirstCommitThatCannotBeReadIsAnError(t *testing.T) {
	for name, spoil := range map[string]func(r *repo){
		"the folder is gone": func(r *repo) { require.NoError(r.t, os.RemoveAll(r.dir)) },
		"the history is damaged": func(r *repo) {
			hash := r.plain("rev-parse", "HEAD~1")
			require.NoError(r.t, os.Remove(filepath.Join(r.dir, ".git", "objects", hash[:2], hash[2:])))
		},
		"the configuration is damaged": func(r *repo) { r.write(".git/config", "[core\n") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			spoil(r)
			_, err := git.FirstCommit(t.Context(), r.dir)
			isProblem(t, err)
		})
	}
}

// isProblem asserts that an error is one for users.
func isProblem(t *testing.T, err error) *core.Problem {
	var p *core.Problem
	require.True(t, errors.As(err, &p), "%v", err)
	require.ErrorIs(t, err, core.ErrInvalid)
	return p
}

func TestRunAcceptsOnlyKnownCommands(t *testing.T) {
	r := newRepo(t)
	for _, args := range [][]string{
		nil, {""}, {"add", "--all"}, {"worktree"}, {"worktree", "move"}, {"fetch"},
		{"-c", "core.fsmonitor=x", "status"}, {"--exec-path=.", "status"},
	} {
		_, err := git.Run(t.Context(), r.dir, args...)
		assert.Contains(t, isProblem(t, err).Message, "does not run", "%q", args)
	}
}

func TestDataIsNotReadAsAnOption(t *testing.T) {
	r := newRepo(t)
	option := "--output=" + r.mark
	_, err := git.Run(t.Context(), r.dir, "diff", "--end-of-options", option, "--")
	assert.Contains(t, isProblem(t, err).Message, "bad revision")
	for _, commit := range []string{option, "--lock", "-", ""} {
		isProblem(t, git.AddWorktree(t.Context(), r.dir, filepath.Join(r.dir, "..", "tree"), commit))
	}
	assert.NoFileExists(t, r.mark)
	_, err = git.Run(t.Context(), r.dir, "worktree", "remove", "--", "--force")
	assert.Contains(t, isProblem(t, err).Message, "not a working tree")
}

func TestAWorktreeHasTheFilesOfItsCommit(t *testing.T) {
	r := newRepo(t)
	first := filepath.Join(r.dir, "..", "first")
	require.NoError(t, git.AddWorktree(t.Context(), r.dir, first, r.plain("rev-parse", "HEAD~1")))
	assert.FileExists(t, filepath.Join(first, "changed"))
	assert.NoDirExists(t, filepath.Join(first, "folder"))
	left, err := git.Run(t.Context(), first, "status", "--porcelain", "--ignored")
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Equal(t, "HEAD", r.plain("-C", first, "rev-parse", "--abbrev-ref", "HEAD"))
}

// Another git makes the files of a worktree one after the other, and every git that looks at
// them in between dies.
func TestAWorktreeThatIsBeingMadeIsWaitedFor(t *testing.T) {
	for name, half := range map[string]struct{ commondir, head string }{
		"without its repository": {"", "ref: refs/heads/none\n"},
		"without its commit":     {"../..\n", strings.Repeat("0", 40) + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			made := filepath.Join(r.dir, ".git", "worktrees", "made")
			write := func(name, text string) error { return os.WriteFile(filepath.Join(made, name), []byte(text), 0o600) }
			require.NoError(t, os.MkdirAll(made, 0o700))
			require.NoError(t, errors.Join(write("gitdir", filepath.Join(r.dir, "made", ".git")), write("locked", "initializing"),
				write("commondir", half.commondir), write("HEAD", half.head)))
			list := []string{"rev-list", "--all", "--count"}
			_, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", r.dir}, list...)...).Output()
			require.Error(t, err, "git does not wait")

			time.AfterFunc(30*time.Millisecond, func() {
				_ = errors.Join(write("commondir", "../..\n"), write("HEAD", "ref: refs/heads/none\n"))
			})
			_, err = git.Run(t.Context(), r.dir, list...)
			assert.NoError(t, err)
		})
	}
}

// A worktree whose folder was deleted is replaced, and one that another git has begun to make stays.
func TestADeletedWorktreeIsReplaced(t *testing.T) {
	r := newRepo(t)
	tree := filepath.Join(r.dir, "..", "tree")
	require.NoError(t, git.AddWorktree(t.Context(), r.dir, tree, "HEAD"))
	require.NoError(t, os.RemoveAll(tree))
	begun := filepath.Join(r.dir, ".git", "worktrees", "begun") // git's first step
	require.NoError(t, os.Mkdir(begun, 0o700))
	require.NoError(t, git.AddWorktree(t.Context(), r.dir, tree, "HEAD"))
	assert.FileExists(t, filepath.Join(tree, ".git"))
	assert.DirExists(t, begun)
}

// While git makes a worktree, others prune, which removes a worktree at any step of its making.
func TestAWorktreeThatIsPrunedIsMadeAgain(t *testing.T) {
	r := newRepo(t)
	for i := range 8 {
		var prunes sync.WaitGroup
		prunes.Go(func() {
			for range 4 { // fewer than the tries of a command
				_ = exec.Command("git", "-C", r.dir, "worktree", "prune").Run()
			}
		})
		assert.NoError(t, git.AddWorktree(t.Context(), r.dir, filepath.Join(r.dir, "..", "tree"+strconv.Itoa(i)), "HEAD"))
		prunes.Wait()
	}
}

func TestAnUnfilledWorktreeIsRemoved(t *testing.T) {
	r := newRepo(t)
	hash := r.plain("rev-parse", "HEAD:folder/file")
	require.NoError(t, os.Remove(filepath.Join(r.dir, ".git", "objects", hash[:2], hash[2:])))
	tree := filepath.Join(r.dir, "..", "tree")
	isProblem(t, git.AddWorktree(t.Context(), r.dir, tree, r.plain("rev-parse", "HEAD~1")+"~0"))
	assert.NoDirExists(t, tree)
	assert.Len(t, strings.Split(r.plain("worktree", "list"), "\n"), 1)
}

func TestAddIntentEqualsAdd(t *testing.T) {
	for name, change := range map[string]func(r *repo){
		"with changes of each sort":  func(*repo) {},
		"with a file that is gone":   func(r *repo) { require.NoError(r.t, os.Remove(filepath.Join(r.dir, "touched"))) },
		"with nothing left":          func(r *repo) { r.plain("rm", "-r", "--quiet", "--force", "."); r.plain("clean", "--quiet", "--force") },
		"with names that mean more":  func(r *repo) { r.write(":(exclude)new", "x"); r.write("*", "x"); r.write("-A", "x") },
		"with a repository inside":   func(r *repo) { r.plain("clone", "--quiet", ".", "inside") },
		"with a submodule as it was": func(r *repo) { r.plain("clone", "--quiet", ".", "mod"); recommit(r) },
		"with one that is not there": func(r *repo) {
			r.plain("clone", "--quiet", ".", "mod")
			recommit(r)
			require.NoError(r.t, os.RemoveAll(filepath.Join(r.dir, "mod")))
		},
		"with a submodule of odd name": func(r *repo) { r.plain("clone", "--quiet", ".", "*"); recommit(r) },
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours := newRepo(t), newRepo(t)
			for _, r := range []*repo{theirs, ours} {
				change(r)
				r.write("newer", "x")
			}
			theirs.plain("add", "--all", "--intent-to-add")
			require.NoError(t, git.AddIntent(t.Context(), ours.dir))
			for _, look := range [][]string{{"diff", "--name-status", "HEAD"}, {"ls-files", "--others", "--exclude-standard"}} {
				assert.Equal(t, theirs.plain(look...), ours.plain(look...))
			}
		})
	}
}

func TestSubmodulesAreListed(t *testing.T) {
	r := newRepo(t)
	none, err := git.Submodules(t.Context(), r.dir)
	require.NoError(t, err)
	assert.Empty(t, none)
	odd := "160000 \tx\n"
	r.write(odd+"file", "160000 ")
	r.plain("clone", "--quiet", ".", odd)
	r.plain("clone", "--quiet", ".", "folder/mod")
	recommit(r)
	all, err := git.Submodules(t.Context(), r.dir)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{odd, "folder/mod"}, all)
	inside, err := git.Submodules(t.Context(), filepath.Join(r.dir, "folder"))
	require.NoError(t, err)
	assert.Equal(t, []string{"mod"}, inside)
}

func TestTheSizeOfACommitIsTheSumOfItsFiles(t *testing.T) {
	r := newRepo(t)
	r.write("a\tb\nc/new", "12345")
	require.NoError(t, os.Symlink("changed", filepath.Join(r.dir, "link")))
	r.commit("more")
	head := strings.TrimSpace(r.plain("rev-parse", "HEAD"))
	wantFiles, wantBytes := 0, int64(0)
	for _, path := range strings.Split(strings.TrimSuffix(r.plain("ls-files", "-z"), "\x00"), "\x00") {
		size, err := strconv.ParseInt(strings.TrimSpace(r.plain("cat-file", "-s", "HEAD:"+path)), 10, 64)
		require.NoError(t, err)
		wantFiles, wantBytes = wantFiles+1, wantBytes+size
	}
	files, bytes, err := git.SizeOf(t.Context(), r.dir, head)
	require.NoError(t, err)
	assert.Equal(t, wantFiles, files)
	assert.Equal(t, wantBytes, bytes)
	_, _, err = git.SizeOf(t.Context(), filepath.Join(r.dir, "a\tb\nc"), head)
	require.NoError(t, err)
	for _, odd := range []string{"HEAD", "--output=x", ""} {
		_, _, err = git.SizeOf(t.Context(), r.dir, odd)
		isProblem(t, err)
	}
}
