package agents

import (
	"context"
	"errors"
	"time"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// The limits of what an agent elsewhere may store on this machine, in bytes.
const (
	maxAwayOutput = 64 << 20
	maxAwayPatch  = 50 << 20
)

// cancelTime is how long a cancelled agent may take to end elsewhere.
const cancelTime = 30 * time.Second

// mostAgain is how often flame restarts the follower of an agent.
const mostAgain = 10

// followAgain starts another follower for an agent elsewhere whose follower was has died. If
// that fails, it tells the worker to stop, so that the agent does not run unseen.
func followAgain(ctx context.Context, a *Agents, run record.Agent, was supervise.Process) (following bool, err error) {
	if reach(a.Remote) != nil {
		return false, nil
	}
	again := false
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		live, known, err := record.ActiveAgents.Get(tx, run.ID)
		switch {
		case err != nil:
			return err
		case !known || live.Supervisor != was:
			following = true // another process has done that
			return nil
		case live.Again >= mostAgain:
			return nil
		}
		again, following = true, true
		live.Starter, live.Supervisor, live.Since = supervise.Self(), supervise.Process{}, a.Project.Now()
		live.Again++
		return record.ActiveAgents.Save(tx, run.ID, live)
	})
	switch {
	case err != nil:
		return following, err
	case again:
		return true, launch(ctx, a, a.planner(), run)
	case following:
		return true, nil
	}
	why := "its follower was killed"
	err = a.Remote.Cancel(ctx, run.ID, why)
	if errors.Is(err, core.ErrUnavailable) {
		err = errors.Join(owe(ctx, a, run.ID, why), err)
	}
	if err != nil {
		a.Project.Log.Warn("could not stop the worker of an agent that has lost its follower", "agent", run.ID, "error", err)
	}
	return false, nil
}

// owe records that flame must still tell a worker to stop an agent; SendPending does so later.
func owe(ctx context.Context, a *Agents, id, why string) error {
	return a.Project.Store.Update(ctx, func(tx project.Tx) error { return record.PendingCancels.Save(tx, id, why) })
}

// tellCancelled tells workers to stop that could not be reached before.
func tellCancelled(ctx context.Context, a *Agents) error {
	untold, err := project.Read(ctx, a.Project, func(tx project.Tx) (map[string]string, error) { return record.PendingCancels.ByID(tx) })
	for id, why := range untold {
		told := a.Remote.Cancel(ctx, id, why)
		if told != nil && !errors.Is(told, core.ErrNotFound) {
			return errors.Join(err, told) // later
		}
		err = errors.Join(err, a.Project.Store.Update(ctx, func(tx project.Tx) error { return record.PendingCancels.Delete(tx, id) }))
	}
	return err
}

// oweTime is how often SendPending checks.
const oweTime = 2 * time.Second

// SendPending tells workers to stop that could not be reached before, while the hub is connected and
// until ctx ends.
func SendPending(ctx context.Context, a *Agents) {
	for range project.Every(ctx, 0, oweTime) {
		if err := tellCancelled(ctx, a); err != nil && ctx.Err() == nil {
			a.Project.Log.Warn("could not stop workers of other machines", "error", err)
		}
	}
}
