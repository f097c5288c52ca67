package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/git"
	"flame/tests/effort"
)

// A hook may have started flame, or a person with own filters.
func TestTheEnvironmentCannotMakeGitRunPrograms(t *testing.T) {
	effort.Heavy(t)
	for name, tt := range map[string]struct {
		set     func(r *repo) map[string]string // TRAP stands for the trap
		springs []string
	}{
		"another repository": {func(r *repo) map[string]string { return map[string]string{"GIT_DIR": hostile(r)} }, status},
		"another common folder": {func(r *repo) map[string]string {
			return map[string]string{"GIT_DIR": ".git", "GIT_COMMON_DIR": hostile(r)}
		}, status},
		"an external diff": {variables("GIT_EXTERNAL_DIFF", "TRAP"), diff},
		"settings": {
			variables("GIT_CONFIG_COUNT", "1", "GIT_CONFIG_KEY_0", "core.fsmonitor", "GIT_CONFIG_VALUE_0", "TRAP"),
			status,
		},
		"settings of a git above": {variables("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='TRAP'"), status},
		"a trace":                 {variables("GIT_TRACE", "MARK"), status},
		"an editor":               {variables("GIT_EDITOR", "TRAP"), []string{"commit", "--amend"}},
		"a filter that is the user's": {
			func(r *repo) map[string]string {
				attributes("filter=lfs")(r)
				r.write("../user", r.filled("[filter \"lfs\"]\nprocess = TRAP\nclean = TRAP\nsmudge = TRAP\nrequired = true\n"))
				return map[string]string{"GIT_CONFIG_GLOBAL": filepath.Join(r.dir, "..", "user")}
			}, status,
		},
		"a hook that is the user's": {
			func(r *repo) map[string]string {
				hooks("../hooks", everyHook...)(r)
				r.write("../user", "[core]\nhooksPath = "+filepath.Join(r.dir, "..", "hooks")+"\n")
				return map[string]string{"GIT_CONFIG_GLOBAL": filepath.Join(r.dir, "..", "user")}
			}, addWorktree,
		},
	} {
		t.Run(name, func(t *testing.T) {
			control, r := newRepo(t), newRepo(t)
			theirs, ours := tt.set(control), tt.set(r)
			require.NoError(t, os.RemoveAll(control.mark))
			for name, value := range theirs {
				t.Setenv(name, value)
			}
			out, _ := control.try("git", tt.springs...)
			require.FileExists(t, control.mark, "the trap is broken: plain git says %s", out)
			for name, value := range ours {
				t.Setenv(name, value)
			}
			require.NoError(t, everything(r))
			assert.NoFileExists(t, r.mark)
		})
	}
}

// hostile makes another repository with a trap.
func hostile(r *repo) (dir string) {
	r.plain("clone", "--quiet", ".", "../hostile")
	dir = filepath.Join(r.dir, "..", "hostile", ".git")
	r.plain("-C", dir, "config", "core.fsmonitor", r.trap)
	return dir
}

func variables(pairs ...string) func(*repo) map[string]string {
	return func(r *repo) map[string]string {
		set := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			set[pairs[i]] = r.filled(pairs[i+1])
		}
		return set
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
	t.Parallel()
	arm := func() *repo {
		r := newRepo(t)
		require.NoError(t, os.Rename(filepath.Join(r.dir, ".git"), filepath.Join(r.dir, "folder", "docs")))
		r.plain("init", "--quiet", ".")
		r.dir = filepath.Join(r.dir, "folder", "docs")
		r.write("config", r.filled("[core]\nrepositoryFormatVersion = 0\nbare = false\nworktree = ..\nfsmonitor = TRAP\n"))
		return r
	}
	control := arm()
	out, _ := control.try("git", status...)
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
