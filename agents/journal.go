package agents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"flame/agents/changes"
	"flame/agents/handoff"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/config/env"
	"flame/core"
	"flame/project"
	"flame/project/children"
)

// Supervise runs an agent to its end. It is what `flame supervise` does.
func (a *Agents) Supervise(ctx context.Context, id string, log *slog.Logger) error {
	if a.Notified != nil {
		defer a.Notified() // the keeper ends whatever the supervisor leaves
	}
	// One that is cancelled before it began is told so in order, too.
	lasting := context.WithoutCancel(ctx)
	run, err := a.Find(lasting, id)
	if err != nil {
		return err
	}
	if run.Elsewhere() {
		return follow(ctx, a, run, log)
	}
	job, err := a.launcher().job(lasting, run)
	if err != nil {
		return errors.Join(err, a.unstarted(ctx, run.ID, err))
	}
	s := supervise.Supervisor{
		Job: job, Read: a.Hosts.Of(run.Host).Prints.Reader(), Journal: journal{a, job.ID}, Log: log, Pace: supervise.DefaultPace,
	}
	defer a.gated(run, &s)()
	_, err = s.Run(ctx)
	return err
}

// A journal is where an agent's supervisor tells what happens: the agent's record
// and the event log.
type journal struct {
	a  *Agents
	id string
}

// errOver tells a supervisor that is not to begin.
var errOver = errors.New("the agent is over")

// Begin keeps who watches over the agent.
func (j journal) Begin(ctx context.Context, by supervise.Process) error {
	run, err := record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, run *record.Run) error {
		var live record.Live
		_, err := record.Living.Load(tx, j.id, &live)
		return errors.Join(err, record.Living.Save(tx, j.id, record.Live{Supervisor: by, Worker: live.Worker, Again: live.Again, Since: run.CreatedAt}))
	})
	if err == nil && run.State.Ended() {
		err = errOver
	}
	return err
}

// Active keeps that the agent runs, and in which session.
func (j journal) Active(ctx context.Context, p supervise.Progress) error {
	p.Text = core.Cut(p.Text, changes.MaxExcerpt)
	run, err := record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, run *record.Run) error {
		before := run.State
		run.State = core.AgentActive // what it used so far is Tell's and End's to count
		if p.Session != "" {
			run.Session = p.Session
			if err := record.Sessions.Save(tx, p.Session, run.ID); err != nil {
				return err
			}
		}
		if before == core.AgentActive {
			return nil // a last turn, in another process of the host
		}
		return record.Tell(tx, j.a.Project.Now(), *run, core.SubagentActive, map[string]any{"initial_state": core.AgentActive})
	})
	if err != nil || run.Session == "" {
		return err
	}
	return children.Join(ctx, j.a.Project, parentOf(run), run.ID, run.Session)
}

// parentOf is flame itself, acting for an agent's parent: it may change frames of a
// session that handed control over.
func parentOf(run record.Run) project.Caller {
	return project.Caller{Session: run.ParentSession, Host: project.CommandLine, Trust: project.ByFlame}
}

// warnAt is the part of a budget whose use is told.
const warnAt = 0.8

// progressPace is how often an event tells of an agent's progress.
const progressPace = core.Millis(5_000)

// Tell keeps how far the agent is, and says whether it may go on.
func (j journal) Tell(ctx context.Context, p supervise.Progress) (orders supervise.Orders, err error) {
	p.Text = core.Cut(p.Text, changes.MaxExcerpt)
	var news bool
	err = j.a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err := record.Find(tx, j.id)
		if err != nil {
			return err
		}
		news = run.Progress != p
		orders, err = j.orders(tx, run)
		return err
	})
	if err != nil || !news {
		return orders, err
	}
	_, err = record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, run *record.Run) error {
		if err := record.Spend(j.a.Project.Step(tx, project.Caller{}), run, p); err != nil {
			return err
		}
		run.Progress = p
		return j.tellProgress(tx, *run)
	})
	return orders, err
}

// orders returns what ends an agent from outside.
func (j journal) orders(tx project.Tx, run record.Run) (supervise.Orders, error) {
	cancel := func(format string, args ...any) (supervise.Orders, error) {
		return supervise.Orders{Stop: core.AgentCancelled, Reason: fmt.Sprintf(format, args...)}, nil
	}
	if run.State.Ended() {
		return cancel("it was %s already", run.State)
	}
	if run.CancelledBy != "" {
		return cancel("cancelled by %s", run.CancelledBy)
	}
	if run.For != "" {
		return j.workersOrders(tx, run)
	}
	if parent, err := tx.Session(run.ParentSession); err == nil && parent.State == core.SessionEnded && !j.a.Keep {
		return cancel("the session that asked for it ended; " + env.AgentOnSessionEnd + "=keep lets agents go on")
	}
	orders, err := handoff.Orders(tx, j.a.Project.Now(), run.ID)
	if orders.Stop != "" || err != nil {
		return orders, err
	}
	var t record.Tree
	if _, err := record.Trees.Load(tx, run.Tree, &t); err != nil {
		return orders, err
	}
	if j.a.Bounds.UsedUp(t) != nil {
		orders = supervise.Orders{Stop: core.AgentError, Reason: supervise.TreeBudget}
	}
	return orders, nil
}

// tellProgress tells of an agent's progress from time to time, and once that its
// budget is nearly used.
func (j journal) tellProgress(tx project.Tx, run record.Run) error {
	var l record.Live
	if known, err := record.Living.Load(tx, run.ID, &l); !known || err != nil {
		return err
	}
	now, p := j.a.Project.Now(), run.Progress
	low := run.Limits.Tokens > 0 && float64(p.Tokens()) >= warnAt*float64(run.Limits.Tokens) ||
		run.Limits.CostUSD > 0 && p.Cost() >= warnAt*run.Limits.CostUSD
	if low && !l.Warned {
		l.Warned = true
		if err := record.Tell(tx, now, run, core.BudgetWarning, map[string]any{"tokens": p.Tokens(), "costUSD": p.Cost(), "limits": run.Limits}); err != nil {
			return err
		}
	} else if now-l.Told < progressPace {
		return nil
	}
	l.Told = now
	if err := record.Living.Save(tx, run.ID, l); err != nil {
		return err
	}
	return record.Tell(tx, now, run, core.SubagentProgress, map[string]any{
		"last_tool": p.LastTool, "tokens": p.Tokens(), "tool_uses": p.ToolCalls, "duration_ms": now - run.CreatedAt,
	})
}

// Retry keeps that the agent waits for another attempt.
func (j journal) Retry(ctx context.Context, r supervise.Retry) error {
	_, err := record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, run *record.Run) error {
		run.State, run.Progress.Attempt = core.AgentSuspended, r.Attempt
		return record.Tell(tx, j.a.Project.Now(), *run, core.SubagentRetry, map[string]any{
			"agent_type": run.Type, "attempt": r.Attempt, "reason": r.Reason, "delay": r.Delay.Milliseconds(),
		})
	})
	return err
}

// End keeps how the agent ended, and ends its frame.
func (j journal) End(ctx context.Context, o supervise.Outcome) error { return j.a.end(ctx, j.id, o) }
