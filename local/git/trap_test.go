package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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

func TestOutputIsBounded(t *testing.T) {
	r := newRepo(t)
	require.NoError(t, os.Truncate(filepath.Join(r.dir, "changed"), 66<<20))
	_, err := git.Run(t.Context(), r.dir, "diff", "--text", "HEAD", "--")
	assert.Contains(t, isProblem(t, err).Message, "more than 64 MB")
}

func TestMemoryIsBounded(t *testing.T) {
	effort.Heavy(t)
	if runtime.GOOS != "linux" {
		t.Skip("no other system has means for it")
	}
	r := newRepo(t)
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(r.dir, ".git", "objects", "info", "alternates")))
	_, err := git.Run(t.Context(), r.dir, "rev-list", "HEAD")
	assert.Contains(t, isProblem(t, err).Message, "memory")
}

func TestAHangingGitIsKilled(t *testing.T) {
	r := newRepo(t)
	pipe := filepath.Join(r.dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for name, hang := range map[string]func(ctx context.Context) error{
		"over its input": func(ctx context.Context) error {
			_, err := git.Run(ctx, r.dir, "apply", "--", pipe)
			return err
		},
		"over the configuration": func(ctx context.Context) error {
			other := newRepo(t)
			other.plain("config", "include.path", pipe)
			_, err := git.FirstCommit(ctx, other.dir)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			err := hang(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Contains(t, isProblem(t, err).Message, "took too long")
			_, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			require.ErrorIs(t, err, syscall.ENXIO, "it still waits there")
		})
	}
}

// fakeGit replaces git with a script, except for `git config`.
func fakeGit(t *testing.T, script string) (dir string) {
	dir = t.TempDir()
	text := "#!/bin/sh\ncase \"$*\" in *' config '*) exit 0;; esac\ncd " + dir + "\n" + script + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(text), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

func TestTheProcessesOfGitEndWithIt(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		says   string
	}{
		"after a cancellation":         {"sleep 1000 & echo $! >new; mv new pid; wait", "canceled"},
		"after git has ended":          {"sleep 1000 & echo $! >new; mv new pid", "WaitDelay"},
		"if they print without an end": {"yes & echo $! >new; mv new pid; wait", "more than 64 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fakeGit(t, tt.script)
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			ended := make(chan error, 1)
			go func() {
				_, err := git.Run(ctx, dir, "status")
				ended <- err
			}()
			pid := 0
			require.Eventually(t, func() bool {
				text, _ := os.ReadFile(filepath.Join(dir, "pid"))
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return pid > 0
			}, time.Minute, 5*time.Millisecond)
			if tt.says == "canceled" {
				giveUp()
			}
			assert.Contains(t, isProblem(t, <-ended).Message, tt.says)
			require.Eventually(t, func() bool { return isGone(pid) }, time.Minute, 5*time.Millisecond)
		})
	}
}

// isGone reports whether a process has ended, also if it is still a zombie.
func isGone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		return strings.Contains(string(stat), ") Z ")
	}
	return syscall.Kill(pid, 0) != nil
}
