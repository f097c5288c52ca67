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

// Keep runs the supervisor of an agent, `program supervise AGENT`, and ends all that
// it leaves. On Linux nothing gets away, however early the supervisor is killed: its
// orphans become this process's. Elsewhere what took off its mark is found only as it
// was noted (family.json). A supervisor that ends in order leaves nothing, and
// agents that the agent started have keepers of their own, which go on. A keeper that
// is killed itself takes nothing with it: the supervisor goes on, and whoever recovers
// the agent ends what is left of it then.
func Keep(seat Seat) error {
	// They are the supervisor's to heed. Ignored ones would stay so in all below it.
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

// unsupervised is how an agent ended whose supervisor could not be started.
func unsupervised(err error) Outcome {
	now := core.MillisOf(time.Now())
	return Outcome{
		State: core.AgentError, Reason: "its supervisor could not be started", Error: err.Error(),
		Partial: true, ExitCode: -1, StartedAt: now, EndedAt: now,
	}
}
