package git_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/git"
	"flame/tests/effort"
)

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
	hangs := map[string]func(ctx context.Context) error{
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
	}
	for name, hang := range hangs {
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
