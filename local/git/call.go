package git

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"flame/core"
)

const (
	// maxOutput bounds git's output, in bytes: a diff can have any size.
	maxOutput = 64 << 20
	// maxErrors bounds the error output that flame keeps, in bytes.
	maxErrors = 4 << 10
	// maxMemory bounds the memory of git, in bytes, if the system can do that: git reads
	// a link to /dev/zero in place of a reference or a list of attributes until it has
	// no more memory.
	maxMemory = 1 << 30
	// grace is how long git's output may stay open after git has ended.
	grace = 2 * time.Second
	// settling bounds how long flame waits for another git that is making a worktree.
	settling = 2 * time.Second
)

// ErrTooMuch is the cause of an error if git printed too much.
var ErrTooMuch = errors.New("too much output")

// A call is one run of git.
type call struct {
	dir   string
	args  []string
	env   []string // in addition to the variables of all calls
	stdin string

	// The zero values of these fields stand for defaults.
	patience time.Duration // after which flame kills git
	memory   uint64        // that each process may allocate, in bytes; see limit
	secret   string        // errors do not contain it
}

// run runs git with settings that keep it from starting the programs of its configuration.
func (c call) run(ctx context.Context) (string, error) {
	ctx, stop := context.WithTimeout(ctx, cmp.Or(c.patience, patience))
	defer stop()
	settings, err := quietFor(ctx, c)
	if settings != "" {
		defer os.Remove(settings)
	}
	if err != nil {
		return "", err
	}
	for wait := settling >> 8; ; wait *= 2 {
		text, err := execute(ctx, c, settings)
		if err == nil || wait >= settling || !meetsHalfWorktree(err) {
			return text, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return text, err
		}
	}
}

// meetsHalfWorktree reports whether git failed only because another git was making or removing a
// worktree of the repository at that moment. Any command that looks at all worktrees, as most do,
// dies (git 2.55 too) if the file commondir of one is still empty, on which errno then says that
// all is well, or if its HEAD is still the null id. And a git that prunes, as `git gc` does, or
// that removes the last worktree, takes away the folder in which another one begins a worktree.
func meetsHalfWorktree(err error) bool {
	return halfWorktree().MatchString(err.Error())
}

var halfWorktree = core.Pattern(`failed to read .*worktrees/[^/]+/commondir: (Success|Undefined error: 0)|bad object worktrees/[^/]+/HEAD|` +
	`could not (open|create|write).*/worktrees/[^/']+(/\w+)?'.*: No such file or directory`)

// execute runs git with the settings in a file, and returns its output.
func execute(ctx context.Context, c call, settings string) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var text, said strings.Builder
	stdout, stderr := &limitedWriter{to: &text, max: maxOutput, full: stop}, &limitedWriter{to: &said, max: maxErrors}
	cmd := c.command(ctx, settings)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Start()
	if err == nil {
		limit(cmd.Process.Pid, cmp.Or(c.memory, maxMemory))
		err = cmd.Wait()
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // kills the processes that hold the output; while they live, no other group has this id
	}
	switch {
	case stdout.over:
		p := core.Invalidf("git %s printed more than %d MB", c.args[0], stdout.max>>20)
		p.Cause = ErrTooMuch
		return "", p
	case err != nil:
		return "", c.problem(errors.Join(ctx.Err(), err), said.String())
	}
	return text.String(), stdout.err
}

// command returns the process to start. It has its own process group, which ends with
// ctx, and no terminal, at which it could ask a person.
func (c call) command(ctx context.Context, settings string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", c.dir, "-c", "include.path=" + settings}, c.args...)...)
	cmd.Env, cmd.Stdin = append(environ(), c.env...), strings.NewReader(c.stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	return cmd
}

// problem describes a run that failed.
func (c call) problem(err error, said string) *core.Problem {
	if c.secret != "" {
		said = strings.ReplaceAll(said, c.secret, "***")
	}
	p := core.Invalidf("git %s: %s", c.args[0], core.OneLine(said+" "+err.Error(), 300))
	p.Cause = err
	if errors.Is(err, context.DeadlineExceeded) {
		p.Message = "git " + c.args[0] + " took too long and was ended"
	}
	return p
}

// A limitedWriter passes on the first max bytes written to it, and calls full at the next byte.
type limitedWriter struct {
	to   io.Writer
	max  int64
	full func() // may be nil
	n    int64
	over bool
	err  error // of the writer
}

// Write passes on the bytes that fit. It accepts all, so that git does not block.
func (b *limitedWriter) Write(p []byte) (int, error) {
	room := min(int64(len(p)), b.max-b.n)
	if b.err == nil {
		_, b.err = b.to.Write(p[:room])
	}
	b.n += room
	if room < int64(len(p)) && !b.over {
		b.over = true
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}
