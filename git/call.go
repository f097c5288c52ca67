package git

import (
	"context"
	"errors"
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
	// grace is how long the output of a git that has ended may stay open.
	grace = 2 * time.Second
)

// A call is one run of git.
type call struct {
	dir   string
	args  []string
	env   []string // on top of what all calls have
	stdin string
}

// run runs git without anything that the configuration would make it run.
func (c call) run(ctx context.Context) (string, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	settings, err := quietFor(ctx, c.dir)
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
	stdout, stderr := bounded{max: maxOutput, full: stop}, bounded{max: maxErrors, full: func() {}}
	cmd := c.command(ctx, settings)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err == nil {
		limit(cmd.Process.Pid)
		err = cmd.Wait()
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // whatever still holds the output; while it lives, no other group gets this id
	}
	switch {
	case stdout.over:
		return "", core.Invalidf("git %s printed more than %d MB", c.args[0], maxOutput>>20)
	case err != nil:
		return "", c.problem(errors.Join(ctx.Err(), err), stderr.text.String())
	}
	return stdout.text.String(), nil
}

// command returns the process to start. It has its own process group, which
// ends with ctx.
func (c call) command(ctx context.Context, settings string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", c.dir, "-c", "include.path=" + settings}, c.args...)...)
	cmd.Env, cmd.Stdin = append(environ(), c.env...), strings.NewReader(c.stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	return cmd
}

// problem describes a run that failed.
func (c call) problem(err error, said string) *core.Problem {
	p := core.Invalidf("git %s: %s", c.args[0], core.OneLine(said+" "+err.Error(), 300))
	p.Cause = err
	if errors.Is(err, context.DeadlineExceeded) {
		p.Message = "git " + c.args[0] + " took too long and was ended"
	}
	return p
}

// A bounded keeps the first max bytes written to it, and calls full when one
// more arrives.
type bounded struct {
	text strings.Builder
	max  int
	full func()
	over bool
}

// Write keeps what fits. It accepts everything, so that the writer does not
// stall.
func (b *bounded) Write(p []byte) (int, error) {
	room := min(len(p), b.max-b.text.Len())
	b.text.Write(p[:room])
	if room < len(p) && !b.over {
		b.over = true
		b.full()
	}
	return len(p), nil
}
