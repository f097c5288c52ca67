package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"flame/core"
)

// Start starts the supervisor of the job in dir by way of a process that ends at once,
// so that nothing above it can end it: OpenCode kills all descendants of its MCP
// servers when it exits (ran). Process is that of the supervisor's keeper, which lives
// at least as long; the supervisor tells its own when it begins.
func Start(ctx context.Context, program, dir string) (Process, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "supervise", "--detach", dir)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return Process{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var p Process
	return p, json.Unmarshal(stdout.Bytes(), &p)
}

// marked returns this process's environment with an agent's mark.
func marked(agent string) []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, core.AgentVariable+"=") })
	return append(env, core.AgentVariable+"="+agent)
}

// Detach starts the keeper of a supervisor (Keep) and returns its process without
// waiting for it, or for the supervisor. This process itself does not bear the agent's
// mark: one that is done at once would else end who started it.
func Detach(program, dir string) (Process, error) {
	job, _, err := LoadJob(dir)
	if err != nil {
		return Process{}, err
	}
	log, err := appendTo(filepath.Join(dir, LogFile))
	if err != nil {
		return Process{}, err
	}
	defer log.Close()
	cmd := inSession(program, keepOption, dir)
	cmd.Dir, cmd.Env = dir, marked(job.ID)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	p, _ := process(cmd.Process.Pid)
	p.PID = cmd.Process.Pid
	return p.Process, cmd.Process.Release()
}

// inSession is `program supervise ARGS` in a session of its own, without a terminal:
// what is sent to others of a session or group does not reach it.
func inSession(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"supervise"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
