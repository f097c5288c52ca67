package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/git"
	"flame/tests/effort"
)

// A trap is a way in which a repository or the environment makes git run a command: a file of
// testdata/traps.txtar, which says what its lines mean.
type trap struct {
	set           string // the script
	springs, also []string
	env           []string
	is            string
}

// trapsIn reads the traps of an archive.
func trapsIn(t *testing.T, archive string) map[string]trap {
	prelude, err := os.ReadFile("testdata/prelude.sh")
	require.NoError(t, err)
	parsed, err := txtar.ParseFile(filepath.Join("testdata", archive))
	require.NoError(t, err)
	traps := map[string]trap{}
	for _, file := range parsed.Files {
		tt := trap{set: string(prelude)}
		for line := range strings.Lines(string(file.Data)) {
			switch kind, rest, _ := strings.Cut(strings.TrimSpace(line), ": "); kind {
			case "springs":
				tt.springs = strings.Fields(rest)
			case "also":
				tt.also = strings.Fields(rest)
			case "env":
				tt.env = append(tt.env, rest)
			case "is":
				tt.is = rest
			default:
				tt.set += line
			}
		}
		require.NotEmpty(t, tt.springs, file.Name)
		traps[file.Name] = tt
	}
	return traps
}

// arm sets the trap, which has not run by then.
func (r *repo) arm(tt trap) *repo {
	out, err := r.try("sh", "-euc", tt.set)
	require.NoError(r.t, err, out)
	require.NoError(r.t, os.RemoveAll(r.mark))
	return r
}

// everything makes all calls of flame in a repository: in a checkout, and in a worktree that it
// makes.
func everything(r *repo) error {
	var errs []error
	run := func(dir string, args ...string) string {
		out, err := git.Run(r.t.Context(), dir, args...)
		errs = append(errs, err)
		return out
	}
	run(r.dir, "rev-parse", "--verify", "--quiet", "HEAD")
	run(r.dir, "rev-parse", "--show-prefix")
	_, err := git.FirstCommit(r.t.Context(), r.dir)
	worktree := filepath.Join(filepath.Dir(r.dir), "worktree")
	errs = append(errs, err, git.AddWorktree(r.t.Context(), r.dir, worktree, "HEAD"))
	dirs := []string{r.dir}
	if _, err := os.Stat(worktree); err == nil {
		r.disturb(worktree)
		dirs = append(dirs, worktree)
	}
	for _, dir := range dirs {
		run(dir, "rev-list", "--max-count=9", "HEAD", "--")
		run(dir, "status")
		run(dir, "status", "--porcelain", "--ignored")
		errs = append(errs, git.AddIntent(r.t.Context(), dir))
		run(dir, "diff", "--name-status", "-z", "HEAD", "--")
		patch := run(dir, "diff", "--binary", "HEAD", "--")
		r.write("../patch", patch)
		run(dir, "apply", "--reverse", "--check", "--", filepath.Join(filepath.Dir(r.dir), "patch"))
		run(dir, "reset", "--hard", "--quiet")
		run(dir, "apply", "--whitespace=nowarn", "--", filepath.Join(filepath.Dir(r.dir), "patch"))
	}
	if len(dirs) > 1 {
		run(r.dir, "worktree", "remove", "--force", "--", worktree)
	}
	run(r.dir, "worktree", "list", "--porcelain")
	run(r.dir, "worktree", "prune")
	return errors.Join(errs...)
}

func TestARepositoryCannotMakeGitRunPrograms(t *testing.T) {
	effort.Heavy(t)
	for name, tt := range trapsIn(t, "traps.txtar") {
		t.Run(name, func(t *testing.T) {
			control := newRepo(t).arm(tt)
			out, _ := control.sprung(tt)
			if _, err := os.Stat(control.mark); err != nil && tt.is == "newer" {
				t.Skip("this git knows no such trap")
			}
			require.FileExists(t, control.mark, "the trap is broken: plain git says %s", out)

			r := newRepo(t).arm(tt)
			err := everything(r)
			if tt.also != nil {
				_, alsoErr := git.Run(t.Context(), r.dir, tt.also...)
				err = errors.Join(err, alsoErr)
			}
			if tt.is != "fails" {
				require.NoError(t, err)
			}
			if told, err := os.ReadFile(r.mark); err == nil {
				assert.Fail(t, "the trap sprang", string(told))
			}
		})
	}
}

// sprung runs plain git, which runs the trap.
func (r *repo) sprung(tt trap) (string, error) {
	r.t.Helper()
	if tt.is != "screen" {
		return r.try("git", tt.springs...)
	}
	if runtime.GOOS != "linux" {
		r.t.Skip("script(1) is another program there")
	}
	return r.try("script", "--quiet", "--return", "--command", "git "+strings.Join(tt.springs, " "), os.DevNull)
}
