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
