package agents

import (
	"cmp"
	"context"
	"slices"
	"syscall"

	"flame/core"
	"flame/project"
)

// Cancel stops an agent and all that it started. What they did is kept. It gives
// those that it told to stop; they may take seconds to end.
func (a *Agents) Cancel(ctx context.Context, by project.Caller, id string) (stopped []Run, err error) {
	run, err := a.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := a.mayDirect(ctx, by, run); err != nil {
		return nil, err
	}
	who := cmp.Or(by.Session, by.Host, project.CommandLine)
	if stopped, err = a.cancelBelow(ctx, run.ID, who); err != nil {
		return stopped, err
	}
	own, err := a.cancel(ctx, run.ID, who)
	if own.ID != "" {
		stopped = append([]Run{own}, stopped...)
	}
	return stopped, err
}

// mayDirect refuses what an agent wants of others than those that it started. A
// user's session may stop any.
func (a *Agents) mayDirect(ctx context.Context, by project.Caller, run Run) error {
	return a.Project.Store.View(ctx, func(tx project.Tx) error { return mayDirect(tx, by, run) })
}

func mayDirect(tx project.Tx, by project.Caller, run Run) error {
	caller, err := agentOf(tx, by, by.Session)
	if err != nil || caller.ID == "" {
		return err
	}
	started, err := isBelow(tx, run, caller.ID)
	if err == nil && !started {
		err = core.Invalidf("%s was not started by %s", run.ID, caller.ID).WithHint("only the one that started an agent may stop it or hand over to it")
	}
	return err
}

// cancel asks one agent to stop. It returns none that was over.
func (a *Agents) cancel(ctx context.Context, id, who string) (Run, error) {
	asked, first := false, false
	run, err := a.change(ctx, id, func(_ project.Tx, run *Run) error {
		asked, first = true, run.CancelledBy == ""
		run.CancelledBy = cmp.Or(run.CancelledBy, who)
		return nil
	})
	switch {
	case err != nil || !asked:
		return Run{}, err
	case !first || run.State == core.AgentInitializing:
		return run, nil // a supervisor that is about to begin takes a signal for its end
	}
	// Its supervisor looks each second; a signal only saves that time.
	if l, known, err := a.liveOf(ctx, id); err == nil && known && l.Supervisor.PID != 0 {
		_ = l.Supervisor.Signal(run.ID, syscall.SIGTERM)
	}
	return run, nil
}

// isBelow reports whether an agent was started by another, or by one below that.
func isBelow(tx project.Tx, run Run, id string) (bool, error) {
	for seen := map[string]bool{}; run.ParentAgent != "" && !seen[run.ParentAgent]; {
		seen[run.ParentAgent] = true
		if run.ParentAgent == id {
			return true, nil
		}
		parent := run.ParentAgent
		run = Run{}
		if _, err := recordRun.Load(tx, parent, &run); err != nil {
			return false, err
		}
	}
	return false, nil
}

// cancelBelow asks all that an agent started, at any depth, to stop.
func (a *Agents) cancelBelow(ctx context.Context, id, who string) (stopped []Run, err error) {
	var below []Run
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		running, err := atWork(tx)
		for _, run := range running {
			if is, err := isBelow(tx, run, id); err != nil {
				return err
			} else if is {
				below = append(below, run)
			}
		}
		return err
	})
	slices.SortFunc(below, func(x, y Run) int { return cmp.Or(cmp.Compare(x.Depth, y.Depth), newestFirst(x, y)) })
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
