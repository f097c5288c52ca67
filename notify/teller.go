package notify

import (
	"log/slog"
	"os/exec"
	"sync"
	"syscall"
)

// A Teller runs a program each time that it is told of something, and waits for none: a
// process of its own, `flame notify`, ends one that takes too long.
type Teller struct {
	Flame   string // path of flame's program
	Program string // path of the user's
	Log     *slog.Logger

	running sync.WaitGroup
}

// Tell begins to tell a person of something: its kind, a short sentence and an id.
func (t *Teller) Tell(kind, text, id string) {
	cmd := exec.Command(t.Flame, "notify", "--", t.Program, harmless(kind), harmless(text), harmless(id))
	cmd.Env, cmd.SysProcAttr = unmarked(), &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Log.Warn("notify", "error", err)
		return
	}
	t.running.Go(func() { _ = cmd.Wait() }) // it logs its own failure
}

// Wait waits until all that was begun is over, which takes Limit at most.
func (t *Teller) Wait() { t.running.Wait() }
