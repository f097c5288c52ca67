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

// A Seat is what the supervisor of an agent is started with: `program supervise
// AGENT`, with Env on top of this process's environment.
type Seat struct {
	Program string
	Agent   string   // subagent_id
	Dir     string   // the agent's folder
	Cwd     string   // where the supervisor works
	Env     []string // NAME=value
}

// Start starts a supervisor by way of a process that ends at once, so that nothing
// above it can end it: OpenCode kills all descendants of its MCP servers when it
// exits (ran).
func Start(ctx context.Context, seat Seat) (Process, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, seat.Program, "supervise", "--detach", seat.Agent)
	cmd.Dir, cmd.Env = seat.Cwd, append(os.Environ(), seat.Env...)
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
// returns its process without waiting for it. The supervisor alone carries the
// agent's mark: one that is done at once would else end who started it.
func Detach(seat Seat) (Process, error) {
	log, err := appendTo(filepath.Join(seat.Dir, LogFile))
	if err != nil {
		return Process{}, err
	}
	defer log.Close()
	cmd := exec.Command(seat.Program, "supervise", seat.Agent)
	cmd.Dir, cmd.Env = seat.Cwd, append(marked(seat.Agent), seat.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	p, _ := process(cmd.Process.Pid)
	p.PID = cmd.Process.Pid
	return p.Process, cmd.Process.Release()
}
