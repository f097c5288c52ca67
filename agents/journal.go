package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

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
	// One that is cancelled before it began is told so in order, too.
	lasting := context.WithoutCancel(ctx)
	run, err := a.Find(lasting, id)
	if err != nil {
		return err
	}
	job, err := a.job(lasting, run)
	if err != nil {
		return errors.Join(err, a.unstarted(ctx, run.ID, err))
	}
	s := supervise.Supervisor{
		Job: job, Read: a.Hosts.Of(run.Host).Prints.Reader(), Journal: journal{a, job.ID}, Log: log, Pace: supervise.DefaultPace,
	}
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
	run, err := j.a.change(ctx, j.id, func(tx project.Tx, run *record.Run) error {
		return record.Living.Save(tx, j.id, record.Live{Supervisor: by, Since: run.CreatedAt})
	})
	if err == nil && run.State.Ended() {
		err = errOver
	}
	return err
}

// Active keeps that the agent runs, and in which session.
func (j journal) Active(ctx context.Context, p supervise.Progress) error {
	p.Text = core.Cut(p.Text, changes.MaxExcerpt)
	run, err := j.a.change(ctx, j.id, func(tx project.Tx, run *record.Run) error {
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
		return j.a.tell(tx, *run, core.SubagentActive, map[string]any{"initial_state": core.AgentActive})
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
		orders, err = j.a.orders(tx, run)
		return err
	})
	if err != nil || !news {
		return orders, err
	}
	_, err = j.a.change(ctx, j.id, func(tx project.Tx, run *record.Run) error {
		if err := j.a.spend(tx, *run, p); err != nil {
			return err
		}
		run.Progress = p
		return j.a.tellProgress(tx, *run)
	})
	return orders, err
}

// orders returns what ends an agent from outside.
func (a *Agents) orders(tx project.Tx, run record.Run) (supervise.Orders, error) {
	cancel := func(format string, args ...any) (supervise.Orders, error) {
		return supervise.Orders{Stop: core.AgentCancelled, Reason: fmt.Sprintf(format, args...)}, nil
	}
	if run.State.Ended() {
		return cancel("it was %s already", run.State)
	}
	if run.CancelledBy != "" {
		return cancel("cancelled by %s", run.CancelledBy)
	}
	if parent, err := tx.Session(run.ParentSession); err == nil && parent.State == core.SessionEnded && !a.Keep {
		return cancel("the session that asked for it ended; " + env.AgentOnSessionEnd + "=keep lets agents go on")
	}
	orders, err := handoff.Orders(tx, a.Project.Now(), run.ID)
	if orders.Stop != "" || err != nil {
		return orders, err
	}
	var t record.Tree
	if _, err := record.Trees.Load(tx, run.Tree, &t); err != nil {
		return orders, err
	}
	if a.Bounds.UsedUp(t) != nil {
		orders = supervise.Orders{Stop: core.AgentError, Reason: treeBudget}
	}
	return orders, nil
}

// spend adds what an agent used since it was told last to what its tree used.
func (a *Agents) spend(tx project.Tx, run record.Run, p supervise.Progress) error {
	var t record.Tree
	if _, err := record.Trees.Load(tx, run.Tree, &t); err != nil {
		return err
	}
	t.Tokens += p.Tokens() - run.Progress.Tokens()
	t.CostUSD += p.Cost() - run.Progress.Cost()
	return record.Trees.Save(tx, run.Tree, t)
}

// tellProgress tells of an agent's progress from time to time, and once that its
// budget is nearly used.
func (a *Agents) tellProgress(tx project.Tx, run record.Run) error {
	var l record.Live
	if known, err := record.Living.Load(tx, run.ID, &l); !known || err != nil {
		return err
	}
	now, p := a.Project.Now(), run.Progress
	low := run.Limits.Tokens > 0 && float64(p.Tokens()) >= warnAt*float64(run.Limits.Tokens) ||
		run.Limits.CostUSD > 0 && p.Cost() >= warnAt*run.Limits.CostUSD
	if low && !l.Warned {
		l.Warned = true
		if err := a.tell(tx, run, core.BudgetWarning, map[string]any{"tokens": p.Tokens(), "costUSD": p.Cost(), "limits": run.Limits}); err != nil {
			return err
		}
	} else if now-l.Told < progressPace {
		return nil
	}
	l.Told = now
	if err := record.Living.Save(tx, run.ID, l); err != nil {
		return err
	}
	return a.tell(tx, run, core.SubagentProgress, map[string]any{
		"last_tool": p.LastTool, "tokens": p.Tokens(), "tool_uses": p.ToolCalls, "duration_ms": now - run.CreatedAt,
	})
}

// Retry keeps that the agent waits for another attempt.
func (j journal) Retry(ctx context.Context, r supervise.Retry) error {
	_, err := j.a.change(ctx, j.id, func(tx project.Tx, run *record.Run) error {
		run.State, run.Progress.Attempt = core.AgentSuspended, r.Attempt
		return j.a.tell(tx, *run, core.SubagentRetry, map[string]any{
			"agent_type": run.Type, "attempt": r.Attempt, "reason": r.Reason, "delay": r.Delay.Milliseconds(),
		})
	})
	return err
}

// End keeps how the agent ended, and ends its frame.
func (j journal) End(ctx context.Context, o supervise.Outcome) error { return j.a.end(ctx, j.id, o) }

// end writes how an agent ended, once; then its frame, and what is below it. After
// a kill in between, telling it again does the rest.
func (a *Agents) end(ctx context.Context, id string, o supervise.Outcome) error {
	if len(o.Text) > maxText {
		o.Text = strings.ToValidUTF8(o.Text[:maxText], "") + "\n… (the rest is in " + supervise.OutputFile + ")"
	}
	told, err := a.Result(ctx, id)
	if err != nil {
		return err
	}
	changed, made := told.Changed(a.Hosts), map[string]string(nil)
	if told.Worktree != "" && !told.State.Ended() {
		kept, err := told.Own().Keep(ctx, a.patchOf(told.ID))
		if err != nil {
			a.Project.Log.Warn("an agent's worktree stays as it is", "agent", told.ID, "error", err)
		}
		if kept != nil {
			changed = kept
		}
	}
	if !told.State.Ended() {
		made = told.Hashes(a.Dir)
	}
	run, err := a.change(ctx, id, func(tx project.Tx, run *record.Run) error {
		if err := a.spend(tx, *run, o.Progress); err != nil {
			return err
		}
		run.State, run.Outcome, run.Progress, run.Changes, run.Made, run.EndedAt = o.State, &o, o.Progress, changed, made, a.Project.Now()
		if o.Session != "" {
			run.Session = o.Session
		}
		if err := record.Leave(tx, *run); err != nil {
			return err
		}
		return a.tellEnd(tx, *run)
	})
	if err != nil {
		return err
	}
	return a.finish(ctx, run)
}

// maxText bounds an answer in an agent's record, in bytes.
const maxText = 1 << 20

// tellEnd tells of an agent's end: what kind of end it was, and the record that its run
// is (seed 004).
func (a *Agents) tellEnd(tx project.Tx, run record.Run) error {
	frame, err := tx.Frame(run.Frame)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	err = nil // a frame that is gone had no artifacts
	o, model := run.Outcome, cmp.Or(run.Progress.Model, run.Model)
	if over := budgetReasons[o.Reason]; over {
		err = a.tell(tx, run, core.BudgetExceeded, map[string]any{"reason": o.Reason, "tokens": run.Progress.Tokens(), "costUSD": run.Progress.Cost()})
	}
	if err == nil && len(o.Refused) > 0 {
		err = a.tell(tx, run, core.SubagentError, map[string]any{
			"reason": "permission", "refused": o.Refused, "agent_type": run.Type, "permission_mode": run.Mode.Effective,
		})
	}
	return errors.Join(err,
		a.tell(tx, run, ends[run.State].Event(), map[string]any{
			"agent_type": run.Type, "reason": o.Reason, "error": o.Error, "stderr": o.Stderr, "context": run.Description,
		}),
		a.tell(tx, run, core.SubagentStop, map[string]any{
			"session_id": run.ParentSession, "agent_type": run.Type, "permission_mode": run.Mode.Effective,
			"task_description": run.Description, "spawn_timestamp": run.CreatedAt, "completion_timestamp": run.EndedAt,
			"outcome": run.State.Outcome(), "state": run.State, "stop_reason": o.Reason, "error": o.Error, "stderr": o.Stderr,
			"partial": o.Partial, "tool_invocation_count": run.Progress.ToolCalls, "retries": run.Progress.Attempt,
			"artifact_paths": append([]string{}, frame.Artifacts...), "model": model, "machine": record.Machine(),
			"tokens": run.Progress.Tokens(), "costUSD": run.Progress.Cost(), "duration_ms": run.EndedAt - run.CreatedAt,
		}))
}

// treeBudget is the stop reason of agents whose tree has used its budget.
const treeBudget = "the budget of all agents below this session is used"

// budgetReasons are the stop reasons that are about a budget.
var budgetReasons = map[string]bool{supervise.TokenBudget: true, supervise.CostBudget: true, treeBudget: true}

// finish does what follows the end of an agent that is final: its frame ends, and
// those that it started stop with it.
func (a *Agents) finish(ctx context.Context, run record.Run) error {
	if run.Outcome == nil {
		return nil
	}
	if !a.Keep {
		if _, err := a.cancelBelow(ctx, run.ID, "its parent "+run.ID+" ended"); err != nil {
			return err
		}
	}
	err := children.EndDelegation(ctx, a.Project, parentOf(run), run.Frame, children.Ended{
		Agent: run.ID, Session: run.Session, End: ends[run.State], Last: lastWords(run),
	})
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	if err := a.resolve(ctx, run); err != nil {
		return err
	}
	return a.Project.Store.Update(ctx, func(tx project.Tx) error {
		var h handoff.Handoff
		if known, err := handoff.Records.Load(tx, run.ID, &h); err != nil || known && !h.Resolved {
			return err // another process is at it; should that die, this is still to be done
		}
		return record.Living.Delete(tx, run.ID)
	})
}

// lastWords are what the frame of an agent is told to have come to.
func lastWords(run record.Run) string {
	o := run.Outcome
	if run.State == core.AgentCompleted {
		return o.Text
	}
	words := fmt.Sprintf("(%s: %s)", run.State, o.Reason)
	if o.Error != "" {
		words += "\n" + core.OneLine(o.Error, 500)
	}
	if o.Text != "" {
		words += "\nSo far: " + o.Text
	}
	return words
}

// unstarted ends an agent whose supervisor did not start. One that was told to stop
// meanwhile may not have started for that.
func (a *Agents) unstarted(ctx context.Context, id string, why error) error {
	ctx = context.WithoutCancel(ctx)
	o := supervise.Outcome{State: core.AgentError, Reason: "it could not be started", Error: why.Error(), Partial: true, EndedAt: a.Project.Now()}
	if run, err := a.Find(ctx, id); err == nil && run.CancelledBy != "" {
		o.State, o.Reason, o.Error = core.AgentCancelled, "cancelled by "+run.CancelledBy, ""
	}
	return a.end(ctx, id, o)
}
