package supervise

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"flame/core"
)

// keepOption makes `supervise` the keeper of another one.
const keepOption = "--keep"

// Keep runs the supervisor of an agent, `program supervise AGENT`, and ends
// everything it leaves. On Linux nothing escapes, however early the supervisor
// is killed: its orphans become this process's children. Elsewhere a process
// that removed its mark is found only if it was recorded (family.json). A
// supervisor that ends normally leaves nothing, and agents that the agent
// started have keepers of their own and continue. A keeper that is itself
// killed takes nothing with it: the supervisor continues, and whoever recovers
// the agent ends the rest.
func Keep(seat Seat) error {
	// The supervisor handles these. If they were ignored here, they would be
	// ignored by everything below.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	unbound := adopt()
	cmd := seat.command()
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return errors.Join(unbound, err, save(filepath.Join(seat.Dir, outcomeFile), unsupervised(err)))
	}
	_ = cmd.Wait() // however it ended
	family{agent: seat.Agent, root: os.Getpid(), noted: loadFamily(seat.Dir)}.end(killGrace)
	return unbound
}

// keeps reports whether a command line is that of an agent's keeper.
func keeps(command, agent string) bool {
	return supervises(command, agent) && slices.Contains(strings.Fields(command), keepOption)
}

// unsupervised returns the outcome of an agent whose supervisor could not be
// started.
func unsupervised(err error) Outcome {
	now := core.MillisOf(time.Now())
	return Outcome{
		State: core.AgentError, Reason: "its supervisor could not be started", Error: err.Error(),
		Partial: true, ExitCode: -1, StartedAt: now, EndedAt: now,
	}
}
