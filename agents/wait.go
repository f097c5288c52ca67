package agents

import (
	"context"
	"time"

	"flame/agents/record"
	"flame/project"
)

// waitPace is how often a waiting caller looks.
const waitPace = 100 * time.Millisecond

// Wait returns the record of an agent once it is final and its frame has ended, or as
// it is when ctx ends. It tells progress each time it looks.
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
		if run.State.Ended() {
			return run, a.settle(context.WithoutCancel(ctx), run)
		}
		progress(run)
		select {
		case <-ctx.Done():
			return run, nil
		case <-tick.C:
		}
	}
}

// settle does what is left to do about an agent that is final: its supervisor may be
// at it still, or be gone.
func (a *Agents) settle(ctx context.Context, run record.Run) error {
	left := false
	err := a.Project.Store.View(ctx, func(tx project.Tx) (err error) {
		left, err = record.Living.Load(tx, run.ID, new(record.Live))
		return err
	})
	if err != nil || !left {
		return err
	}
	return a.finish(ctx, run)
}
