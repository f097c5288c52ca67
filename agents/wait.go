package agents

import (
	"context"
	"time"

	"flame/agents/record"
	"flame/project"
)

// waitPace is how often a waiting caller looks.
const waitPace = 100 * time.Millisecond

// Wait returns the record of an agent once it is final, its frame has ended and what
// follows a handoff to it is done, or as it is when ctx ends. It tells progress each
// time it looks.
func (a *Agents) Wait(ctx context.Context, id string, progress func(record.Run)) (record.Run, error) {
	tick := time.NewTicker(waitPace)
	defer tick.Stop()
	for looks := 1; ; looks++ {
		if looks%20 == 0 { // its supervisor may be killed meanwhile
			if err := a.Recover(context.WithoutCancel(ctx)); err != nil {
				a.Project.Log.Warn("agents could not be recovered", "error", err)
			}
		}
		run, err := a.Find(context.WithoutCancel(ctx), id)
		if err != nil {
			return run, err
		}
		if !run.State.Ended() {
			progress(run)
		} else if settled, err := a.settle(context.WithoutCancel(ctx), run); settled || err != nil {
			return run, err
		}
		select {
		case <-ctx.Done():
			return run, nil
		case <-tick.C:
		}
	}
}

// settle does what is left to do about an agent that is final, and reports whether that
// is done: its supervisor may be gone, or be at it still.
func (a *Agents) settle(ctx context.Context, run record.Run) (done bool, err error) {
	if left, err := a.isLiving(ctx, run); !left || err != nil {
		return err == nil, err
	}
	if err := a.finish(ctx, run); err != nil {
		return false, err
	}
	left, err := a.isLiving(ctx, run)
	return !left, err
}

// isLiving reports whether something is left to do about an agent.
func (a *Agents) isLiving(ctx context.Context, run record.Run) (left bool, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) (err error) {
		left, err = record.Living.Load(tx, run.ID, new(record.Live))
		return err
	})
	return left, err
}
