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

// A Seat holds what is needed to start an agent's supervisor: `program
// supervise AGENT`, with Env on top of this process's environment.
type Seat struct {
	Program string
	Agent   string   // subagent_id
	Dir     string   // the agent's folder
	Cwd     string   // the supervisor's working folder
	Env     []string // NAME=value
}

// Start starts a supervisor by way of a process that exits at once, so that
// nothing above it can end it: OpenCode kills all descendants of its MCP
// servers when it exits (observed). It returns the process of the supervisor's
// keeper, which lives at least as long; the supervisor reports its own when it
// begins.
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

// marked returns this process's environment with an agent's mark.
func marked(agent string) []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, core.AgentVariable+"=") })
	return append(env, core.AgentVariable+"="+agent)
}

// Detach starts the keeper of a supervisor (Keep) and returns its process
// without waiting for it or for the supervisor. This process itself does not
// bear the agent's mark: otherwise one that finishes at once would end the
// process that started it.
func Detach(seat Seat) (Process, error) {
	log, err := appendTo(filepath.Join(seat.Dir, LogFile))
	if err != nil {
		return Process{}, err
	}
	defer log.Close()
	cmd := seat.command(keepOption)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	p, _ := process(cmd.Process.Pid)
	p.PID = cmd.Process.Pid
	return p.Process, cmd.Process.Release()
}

// command returns `program supervise OPTION… AGENT` in a session of its own,
// without a terminal, with the agent's mark.
func (s Seat) command(options ...string) *exec.Cmd {
	cmd := exec.Command(s.Program, append(append([]string{"supervise"}, options...), s.Agent)...)
	cmd.Dir, cmd.Env = s.Cwd, append(marked(s.Agent), s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
