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
	// maxOutput bounds git's output, in bytes: a repository can make a diff of
	// any size.
	maxOutput = 64 << 20
	// maxErrors bounds how much of its error output is kept, in bytes.
	maxErrors = 4 << 10
	// maxMemory bounds what git may allocate, in bytes, where the system has means
	// for it: a link to /dev/zero in place of a reference or a list of attributes is
	// read until memory runs out.
	maxMemory = 1 << 30
	// grace is how long the output of a git that has ended may stay open.
	grace = 2 * time.Second
)

// ErrTooMuch is the cause where git printed more than it may.
var ErrTooMuch = errors.New("too much output")

// A call is one run of git.
type call struct {
	dir   string
	args  []string
	env   []string // on top of what all calls have
	stdin string

	// What follows has a default where it is zero.
	patience time.Duration // until it is ended
	memory   uint64        // that each process may allocate, in bytes; see limit
	output   *bounded      // takes what git prints, which run then does not return
	secret   string        // is left out of errors
}

// run runs git without anything that the configuration would make it run.
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
	return execute(ctx, c, settings)
}

// execute runs git under the settings in a file and returns what it printed.
func execute(ctx context.Context, c call, settings string) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var text, said strings.Builder
	stdout, stderr := c.output, &bounded{to: &said, max: maxErrors}
	if stdout == nil {
		stdout = &bounded{to: &text, max: maxOutput}
	}
	stdout.full = stop
	cmd := c.command(ctx, settings)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Start()
	if err == nil {
		limit(cmd.Process.Pid, cmp.Or(c.memory, maxMemory))
		err = cmd.Wait()
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // whatever still holds the output; while it lives, no other group gets this id
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

// command returns the process to start. It has its own process group, which
// ends with ctx, and no terminal to ask anybody at.
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

// A bounded passes on the first max bytes written to it, and calls full when one
// more arrives.
type bounded struct {
	to   io.Writer
	max  int64
	full func() // may be nil
	n    int64
	over bool
	err  error // of the writer
}

// Write passes on what fits. It accepts everything, so that git does not stall.
func (b *bounded) Write(p []byte) (int, error) {
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
