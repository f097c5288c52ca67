package agents

import (
	"cmp"
	"context"
	"slices"
	"syscall"

	"flame/agents/abroad"
	"flame/agents/record"
	"flame/core"
	"flame/project"
)

// Cancel stops an agent and all that it started. What they did is kept. It gives
// those that it told to stop; they may take seconds to end.
func (a *Agents) Cancel(ctx context.Context, by project.Caller, id string) (stopped []record.Run, err error) {
	run, err := a.directed(ctx, by, id)
	if err != nil {
		return nil, err
	}
	who := cmp.Or(by.Session, by.Host, project.CommandLine)
	if stopped, err = a.cancelBelow(ctx, run.ID, who); err != nil {
		return stopped, err
	}
	own, err := a.cancel(ctx, run.ID, who)
	if own.ID != "" {
		stopped = append([]record.Run{own}, stopped...)
	}
	return stopped, err
}

// directed returns an agent, where the caller may direct it.
func (a *Agents) directed(ctx context.Context, by project.Caller, id string) (run record.Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		if run, err = record.Find(tx, id); err != nil {
			return abroad.Explained(tx, id, err)
		}
		return record.MayDirect(tx, by, run)
	})
	return run, err
}

// cancel asks one agent to stop. It returns none that was over.
func (a *Agents) cancel(ctx context.Context, id, who string) (record.Run, error) {
	asked, first := false, false
	var watched record.Live
	run, err := record.Change(ctx, a.Project.Store, id, func(tx project.Tx, run *record.Run) error {
		asked, first = true, run.CancelledBy == ""
		run.CancelledBy = cmp.Or(run.CancelledBy, who)
		_, err := record.Living.Load(tx, id, &watched)
		return err
	})
	switch {
	case err != nil || !asked:
		return record.Run{}, err
	case !first || run.State == core.AgentInitializing:
		return run, nil // a supervisor that is about to begin takes a signal for its end
	}
	// Its supervisor looks each second; a signal only saves that time.
	if watched.Supervisor.PID != 0 {
		_ = watched.Supervisor.Signal(run.ID, syscall.SIGTERM)
	}
	return run, nil
}

// cancelBelow asks all that an agent started, at any depth, to stop.
func (a *Agents) cancelBelow(ctx context.Context, id, who string) (stopped []record.Run, err error) {
	var below []record.Run
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		running, err := record.AtWork(tx)
		for _, run := range running {
			if is, err := record.IsBelow(tx, run, id); err != nil {
				return err
			} else if is {
				below = append(below, run)
			}
		}
		return err
	})
	slices.SortFunc(below, func(x, y record.Run) int { return cmp.Or(cmp.Compare(x.Depth, y.Depth), record.NewestFirst(x, y)) })
	for _, target := range below {
		run, failed := a.cancel(ctx, target.ID, who)
		if err = cmp.Or(err, failed); err != nil {
			return stopped, err
		}
		if run.ID != "" {
			stopped = append(stopped, run)
		}
	}
	return stopped, err
}
