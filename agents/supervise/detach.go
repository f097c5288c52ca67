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

// Start starts the supervisor of the job in dir: `program supervise DIR`, by way
// of a process that ends at once, so that nothing above it can end it: OpenCode
// kills all descendants of its MCP servers when it exits (ran).
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

// marked is this process's environment with an agent's mark.
func marked(agent string) []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, core.AgentVariable+"=") })
	return append(env, core.AgentVariable+"="+agent)
}

// Detach starts the supervisor in a session of its own, without a terminal, and
// gives its process without waiting for it. The supervisor alone carries the
// agent's mark: one that is done at once would else end who started it.
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
	cmd := exec.Command(program, "supervise", dir)
	cmd.Dir, cmd.Env = dir, marked(job.ID)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	p, _ := process(cmd.Process.Pid)
	p.PID = cmd.Process.Pid
	return p.Process, cmd.Process.Release()
}
