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
	settling := false
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
		} else if left, err := a.settle(context.WithoutCancel(ctx), run, settling); !left || err != nil {
			return run, err
		} else {
			settling = true
		}
		select {
		case <-ctx.Done():
			return run, nil
		case <-tick.C:
		}
	}
}

// settle does what is left to do about an agent that is final, unless begun says that
// this was tried before, and reports whether something is left still: another process is
// at it then, and Recover takes over should that die.
func (a *Agents) settle(ctx context.Context, run record.Run, begun bool) (left bool, err error) {
	left, err = a.isUnsettled(ctx, run)
	if !left || begun || err != nil {
		return left, err
	}
	if err := a.finish(ctx, run); err != nil {
		return true, err
	}
	return a.isUnsettled(ctx, run)
}

// isUnsettled reports whether something is left to do about an agent that is final.
func (a *Agents) isUnsettled(ctx context.Context, run record.Run) (left bool, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) (err error) {
		left, err = record.Living.Load(tx, run.ID, new(record.Live))
		return err
	})
	return left, err
}
