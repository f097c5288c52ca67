package agents

import (
	"context"
	"errors"
	"io"
	"time"

	"flame/agents/away"
	"flame/agents/carry"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// Elsewhere has workers on other machines run agents. What it cannot do now for want of a
// connection is core.ErrUnavailable.
type Elsewhere interface {
	// Ready says why no agent can run elsewhere, without asking anybody.
	Ready() error
	// Unserved says in words that no worker serves a queue, as far as is known without asking
	// anybody; it is empty if one does, or that is not known.
	Unserved(queue string) string
	// Run puts work into a queue, which may be called again for the same, and tells how far
	// it is until it is over or ctx ends. Connections are made again.
	Run(ctx context.Context, e Errand, see func(Sight)) error
	// Cancel has the worker stop an agent, or takes it out of its queue.
	Cancel(ctx context.Context, id, why string) error
	// Leave keeps something for the worker, under a name.
	Leave(ctx context.Context, name string, from io.Reader) error
	// Fetch writes what the worker left under a name, at most so many bytes of it.
	Fetch(ctx context.Context, name string, to io.Writer, most int64) error
}

// An Errand is work for an agent elsewhere.
type Errand struct {
	Queue   string
	Retries int // how often another worker may begin it anew when one is lost
	Work    away.Work
	Print   func(Piece) // is told what the attempt prints that was seen last, from other goroutines
}

// A Sight is how far an agent elsewhere is.
type Sight struct {
	Attempt int    // which worker it is, 1 for the first
	Begun   bool   // a worker has it
	Over    bool   // nothing more will be told
	Lost    string // why nobody knows what became of it; empty: that is known
	Report  away.Report
}

// The bounds of what an agent elsewhere may leave here, in bytes.
const (
	maxAwayOutput = 64 << 20
	maxAwayPatch  = 50 << 20
)

// cancelTime bounds how long an agent that is cancelled may take to end elsewhere.
const cancelTime = 30 * time.Second

// NotJoined is the error for an agent that is to run elsewhere, where there is no elsewhere.
func NotJoined() error {
	return core.Invalidf("agents run on other machines only in projects that have joined a hub").
		WithHint("`flame hub` runs one, `flame join` joins it, and `flame worker` runs agents there; leave the queue out to run the agent here")
}

// reach says why agents cannot run elsewhere, as far as is known without asking.
func reach(e Elsewhere) error {
	if e == nil {
		return NotJoined()
	}
	return e.Ready()
}

// mostAgain bounds how often an agent is followed again.
const mostAgain = 10

// followAgain has an agent elsewhere be followed again whose follower, as noted in was, is
// gone. If that cannot be, its worker is told to stop, so that it does not go on unseen.
func followAgain(ctx context.Context, a *Agents, run record.Run, was supervise.Process) (following bool, err error) {
	if reach(a.Elsewhere) != nil {
		return false, nil
	}
	again := false
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		var live record.Live
		known, err := record.Living.Load(tx, run.ID, &live)
		switch {
		case err != nil:
			return err
		case !known || live.Supervisor != was:
			following = true // another process has seen to it
			return nil
		case live.Again >= mostAgain:
			return nil
		}
		again, following = true, true
		live.Starter, live.Supervisor, live.Since = supervise.Self(), supervise.Process{}, a.Project.Now()
		live.Again++
		return record.Living.Save(tx, run.ID, live)
	})
	switch {
	case err != nil:
		return following, err
	case again:
		return true, a.launcher().launch(ctx, run)
	case following:
		return true, nil
	}
	if err := tellOrOwe(ctx, a, run.ID, "whoever followed it was killed"); err != nil {
		a.Project.Log.Warn("the worker of an agent that nobody follows was not told to stop", "agent", run.ID, "error", err)
	}
	return false, nil
}

// tellOrOwe tells the worker of an agent to stop. If that cannot be, it is told once the hub
// is there again (see Owe).
func tellOrOwe(ctx context.Context, a *Agents, id, why string) error {
	err := a.Elsewhere.Cancel(ctx, id, why)
	if !errors.Is(err, core.ErrUnavailable) {
		return err
	}
	return errors.Join(owe(ctx, a, id, why), err)
}

// owe has a worker be told later to stop an agent.
func owe(ctx context.Context, a *Agents, id, why string) error {
	return a.Project.Store.Update(ctx, func(tx project.Tx) error { return record.Untold.Save(tx, id, why) })
}

// tellCancelled tells workers to stop that could not be told before.
func tellCancelled(ctx context.Context, a *Agents) error {
	untold := map[string]string{}
	err := a.Project.Store.View(ctx, func(tx project.Tx) error {
		return record.Untold.Each(tx, func(id, why string) error {
			untold[id] = why
			return nil
		})
	})
	for id, why := range untold {
		told := a.Elsewhere.Cancel(ctx, id, why)
		if told != nil && !errors.Is(told, core.ErrNotFound) {
			return errors.Join(err, told) // later
		}
		err = errors.Join(err, a.Project.Store.Update(ctx, func(tx project.Tx) error { return record.Untold.Delete(tx, id) }))
	}
	return err
}

// pack sees that an agent can run elsewhere, and notes what of its folder goes along.
func pack(ctx context.Context, e Elsewhere, run *record.Run) error {
	if err := reach(e); err != nil {
		return err
	}
	if told := e.Unserved(run.On); told != "" {
		run.Warnings = append(run.Warnings, told+"; the agent waits for one: `flame worker --queue "+run.On+"`")
	}
	if run.Base == "" {
		return nil
	}
	pending, err := carry.PendingOf(ctx, run.Cwd)
	if err == nil && run.Uncommitted {
		err = pending.Check()
	}
	if told := pending.Told(run.Uncommitted); err == nil && told != "" {
		run.Warnings = append(run.Warnings, told)
	}
	return err
}
