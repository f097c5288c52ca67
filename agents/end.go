package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/agents/changes"
	"flame/agents/handoff"
	"flame/agents/record"
	"flame/agents/result"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/children"
)

// ends says what the state of an agent means for its frame.
var ends = map[core.AgentState]core.ChildEnd{
	core.AgentCompleted: core.ChildCompleted,
	core.AgentTimeout:   core.ChildTimedOut,
	core.AgentCancelled: core.ChildCancelled,
	core.AgentOrphaned:  core.ChildOrphaned,
	core.AgentError:     core.ChildFailed,
}

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
	changed, made, err := keepFiles(ctx, a, told, o.Session)
	if err != nil {
		return err
	}
	run, err := record.Change(ctx, a.Project.Store, id, func(tx project.Tx, run *record.Run) error {
		s := a.Project.Step(tx, project.Caller{})
		if err := record.Spend(s, run, o.Progress); err != nil {
			return err
		}
		run.State, run.Outcome, run.Progress, run.Changes, run.Made, run.EndedAt = o.State, &o, o.Progress, changed, made, a.Project.Now()
		if o.Session != "" {
			run.Session = o.Session
		}
		if err := record.Leave(tx, *run); err != nil {
			return err
		}
		if !run.Elsewhere() {
			if err := project.CountFrom(tx, run.Session, run.EndedAt+1); err != nil {
				return err
			}
		}
		return tellEnd(tx, run.EndedAt, *run)
	})
	if err != nil {
		return err
	}
	if run.Outcome == &o { // else another process wrote how it ended, and tells of it
		a.Notify.end(run)
	}
	return a.finish(ctx, run)
}

// keepFiles keeps what an agent that ends did to files, and returns it, with the hashes of
// its artifacts. Of one elsewhere it is what its worker tells; nothing is kept twice.
func keepFiles(ctx context.Context, a *Agents, told result.Result, session string) (changed []changes.Change, made map[string]string, err error) {
	if told.Elsewhere() {
		return told.Changes, nil, nil
	}
	changed = told.Changed(a.Hosts)
	if told.State.Ended() {
		return changed, nil, nil
	}
	if told.Worktree != "" {
		kept, err := told.Own().Keep(ctx, record.Patch(a.Data, told.ID))
		if err != nil {
			a.Project.Log.Warn("an agent's worktree stays as it is", "agent", told.ID, "error", err)
		}
		if kept != nil {
			changed = kept
		}
	}
	return changed, told.Hashes(a.Dir), noteFiles(ctx, a, told, session)
}

// maxText bounds an answer in an agent's record, in bytes.
const maxText = 1 << 20

// tellEnd tells of an agent's end: what kind of end it was, and the record that its run
// is (seed 004).
func tellEnd(tx project.Tx, now core.Millis, run record.Run) error {
	frame, err := tx.Frame(run.Frame)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	err = nil // a frame that is gone had no artifacts
	o, model := run.Outcome, cmp.Or(run.Progress.Model, run.Model)
	if supervise.OverBudget(o.Reason) {
		err = record.Tell(tx, now, run, core.BudgetExceeded, map[string]any{"reason": o.Reason, "tokens": run.Progress.Tokens(), "costUSD": run.Progress.Cost()})
	}
	if err == nil && len(o.Refused) > 0 {
		err = record.Tell(tx, now, run, core.SubagentError, map[string]any{
			"reason": "permission", "refused": o.Refused, "agent_type": run.Type, "permission_mode": run.Mode.Effective,
		})
	}
	return errors.Join(err,
		record.Tell(tx, now, run, ends[run.State].Event(), map[string]any{
			"agent_type": run.Type, "reason": o.Reason, "error": o.Error, "stderr": o.Stderr, "context": run.Description,
		}),
		record.Tell(tx, now, run, core.SubagentStop, map[string]any{
			"session_id": run.ParentSession, "agent_type": run.Type, "permission_mode": run.Mode.Effective,
			"task_description": run.Description, "spawn_timestamp": run.CreatedAt, "completion_timestamp": run.EndedAt,
			"outcome": record.OutcomeOf(run.State), "state": run.State, "stop_reason": o.Reason, "error": o.Error, "stderr": o.Stderr,
			"partial": o.Partial, "tool_invocation_count": run.Progress.ToolCalls, "retries": run.Progress.Attempt,
			"artifact_paths": lo.Union([]string{}, frame.Artifacts, changes.Paths(run.Changes)), "model": model, "machine": record.Machine(),
			"tokens": run.Progress.Tokens(), "costUSD": run.Progress.Cost(), "duration_ms": run.EndedAt - run.CreatedAt,
		}))
}

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
