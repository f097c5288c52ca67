package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/samber/lo"

	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/children"
)

// ends maps the final state of an agent to the status of its frame.
var ends = map[core.AgentState]core.ChildEnd{
	core.AgentCompleted: core.ChildCompleted,
	core.AgentTimeout:   core.ChildTimedOut,
	core.AgentCancelled: core.ChildCancelled,
	core.AgentOrphaned:  core.ChildOrphaned,
	core.AgentError:     core.ChildFailed,
}

// end records how an agent ended, once, and then ends its frame and the agents below it. If
// the process is killed in between, the next call does the rest.
func (a *Agents) end(ctx context.Context, id string, o supervise.Outcome) error {
	if len(o.Text) > maxText {
		o.Text = strings.ToValidUTF8(o.Text[:maxText], "") + "\n… (the rest is in " + supervise.OutputFile + ")"
	}
	told, err := a.Result(ctx, id)
	if err != nil {
		return err
	}
	kept, err := keepFiles(ctx, a, told, o.Session)
	if err != nil {
		return err
	}
	run, err := record.Change(ctx, a.Project.Store, id, func(tx project.Tx, run *record.Agent) error {
		s := a.Project.Step(tx, project.Caller{})
		if err := record.ChargeUsage(s, run, o.Progress); err != nil {
			return err
		}
		run.State, run.Outcome, run.Progress, run.EndedAt = o.State, &o, o.Progress, a.Project.Now()
		run.Changes, run.ArtifactHashes, run.Unread = kept.changed, kept.made, kept.unread
		if o.Session != "" {
			run.Session = o.Session
		}
		if err := record.RemoveFromTree(tx, *run); err != nil {
			return err
		}
		if !run.IsRemote() {
			if err := project.CountFrom(tx, run.Session, run.EndedAt+1); err != nil {
				return err
			}
		}
		return tellEnd(tx, run.EndedAt, *run)
	})
	if err != nil {
		return err
	}
	return a.finish(ctx, run)
}

// The files that are kept of an ended agent.
type keptFiles struct {
	changed []changes.Change
	made    map[string]string // hashes of its artifacts
	unread  string            // why the changes in its worktree could not be read
}

// keepFiles stores the changes of an ended agent to files. For an agent elsewhere it uses the
// report of the worker. It stores nothing twice.
func keepFiles(ctx context.Context, a *Agents, told record.Result, session string) (kept keptFiles, err error) {
	if told.IsRemote() {
		return keptFiles{changed: told.Changes, unread: told.Unread}, nil
	}
	kept.changed = changes.FromLog(record.Messages(a.Data, told.Agent, a.Hosts), a.Hosts.Tools(), told.Cwd)
	if told.State.Ended() {
		return kept, nil
	}
	if told.Worktree != "" {
		changed, err := told.OwnWorktree().WritePatch(ctx, record.Patch(a.Data, told.ID))
		if err != nil {
			a.Project.Log.Warn("could not keep the patch of an agent, so its worktree stays", "agent", told.ID, "error", err)
			kept.unread = core.OneLine(fmt.Sprintf("what it changed in %s is not in its patch: %v", told.Worktree, err), maxUnread)
		} else {
			kept.changed = changed
		}
	}
	kept.made = told.Hashes(a.Dir)
	return kept, noteFiles(ctx, a, told, session)
}

// maxUnread bounds a reason why changes could not be read, in characters.
const maxUnread = 1000

// maxText bounds an answer in an agent's record, in bytes.
const maxText = 1 << 20

// tellEnd writes the events of an agent's end: the kind of the end, and the record of its run
// (seed 004).
func tellEnd(tx project.Tx, now core.Millis, run record.Agent) error {
	frame, err := tx.Frame(run.Frame)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	err = nil // a deleted frame has no artifacts
	o, model := run.Outcome, cmp.Or(run.Progress.Model, run.Model)
	if supervise.OverBudget(o.Reason) {
		err = record.Emit(tx, now, run, core.BudgetExceeded,
			map[string]any{"reason": o.Reason, "tokens": run.Progress.Tokens(), "costUSD": run.Progress.Cost()})
	}
	if err == nil && len(o.Refused) > 0 {
		err = record.Emit(tx, now, run, core.SubagentError, map[string]any{
			"reason": "permission", "refused": o.Refused, "agent_type": run.Type, "permission_mode": run.Mode.Effective,
		})
	}
	return errors.Join(err,
		record.Emit(tx, now, run, ends[run.State].Event(), map[string]any{
			"agent_type": run.Type, "reason": o.Reason, "error": o.Error, "stderr": o.Stderr, "context": run.Description,
		}),
		record.Emit(tx, now, run, core.SubagentStop, map[string]any{
			"session_id": run.ParentSession, "agent_type": run.Type, "permission_mode": run.Mode.Effective,
			"task_description": run.Description, "spawn_timestamp": run.CreatedAt, "completion_timestamp": run.EndedAt,
			"outcome": record.OutcomeOf(run.State), "state": run.State, "stop_reason": o.Reason, "error": o.Error, "stderr": o.Stderr,
			"partial": o.Partial, "refused": o.Refused, "tool_invocation_count": run.Progress.ToolCalls, "retries": run.Progress.Attempt,
			"artifact_paths": lo.Union([]string{}, frame.Artifacts, changes.Paths(run.Changes)), "model": model, "machine": record.Machine(),
			"tokens": run.Progress.Tokens(), "costUSD": run.Progress.Cost(), "duration_ms": run.EndedAt - run.CreatedAt,
		}))
}

func (a *Agents) finish(ctx context.Context, run record.Agent) error {
	if run.Outcome == nil {
		return nil
	}
	if !a.KeepAfterSession {
		if _, err := a.cancelBelow(ctx, run.ID, "its parent "+run.ID+" ended"); err != nil {
			return err
		}
	}
	err := children.EndDelegation(ctx, a.Project, parentOf(run), run.Frame, children.EndReport{
		Agent: run.ID, Session: run.Session, End: ends[run.State], Last: lastWords(run),
	})
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	if err := a.resolve(ctx, run); err != nil {
		return err
	}
	return a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if h, known, err := record.Handoffs.Get(tx, run.ID); err != nil || known && !h.Resolved {
			return err // another process does it; if that one dies, Recover continues here
		}
		return record.ActiveAgents.Delete(tx, run.ID)
	})
}

// parentOf returns flame itself as the caller that acts for an agent's parent. Flame may
// change frames of a session that handed control over.
func parentOf(run record.Agent) project.Caller {
	return project.Caller{Session: run.ParentSession, Host: project.CommandLine, Trust: project.TrustFlame}
}

func lastWords(run record.Agent) string {
	o := run.Outcome
	if run.State == core.AgentCompleted {
		return strings.TrimSpace(o.Text + "\n" + o.Lacked())
	}
	words := fmt.Sprintf("(%s: %s)", run.State, o.Reason)
	if o.Error != "" {
		words += "\n" + core.OneLine(o.Error, 500)
	}
	if o.Text != "" {
		words += "\nSo far: " + o.Text
	}
	return strings.TrimSpace(words + "\n" + o.Lacked())
}

// unstarted ends an agent whose supervisor did not start. If a user cancelled the agent
// meanwhile, it ends as cancelled.
func (a *Agents) unstarted(ctx context.Context, id string, why error) error {
	ctx = context.WithoutCancel(ctx)
	o := supervise.Outcome{State: core.AgentError, Reason: "it could not be started", Error: why.Error(), Partial: true, EndedAt: a.Project.Now()}
	if run, err := a.Find(ctx, id); err == nil && run.CancelledBy != "" {
		o.State, o.Reason, o.Error = core.AgentCancelled, "cancelled by "+run.CancelledBy, ""
	}
	return a.end(ctx, id, o)
}

// Cancel stops an agent and all agents below it. Their work is kept. It returns the agents
// that it asked to stop; they may take seconds to end.
func (a *Agents) Cancel(ctx context.Context, by project.Caller, id string) (stopped []record.Agent, err error) {
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
		stopped = append([]record.Agent{own}, stopped...)
	}
	return stopped, err
}

func (a *Agents) directed(ctx context.Context, by project.Caller, id string) (record.Agent, error) {
	return project.Read(ctx, a.Project, func(tx project.Tx) (record.Agent, error) {
		run, err := find(tx, id)
		if err == nil {
			err = record.CheckControl(tx, by, run)
		}
		return run, err
	})
}

// cancel asks one agent to stop. It returns the zero value if the agent had ended.
func (a *Agents) cancel(ctx context.Context, id, who string) (record.Agent, error) {
	asked, first := false, false
	var watched record.ActiveAgent
	run, err := record.Change(ctx, a.Project.Store, id, func(tx project.Tx, run *record.Agent) (err error) {
		asked, first = true, run.CancelledBy == ""
		run.CancelledBy = cmp.Or(run.CancelledBy, who)
		watched, err = record.ActiveAgents.Find(tx, id)
		return err
	})
	switch {
	case err != nil || !asked:
		return record.Agent{}, err
	case !first || run.State == core.AgentInitializing:
		return run, nil // a signal would kill a supervisor that has not begun
	}
	// The supervisor checks each second; a signal only saves that time.
	if watched.Supervisor.PID != 0 {
		_ = watched.Supervisor.Signal(run.ID, syscall.SIGTERM)
	}
	return run, nil
}

func (a *Agents) cancelBelow(ctx context.Context, id, who string) (stopped []record.Agent, err error) {
	below, err := project.Read(ctx, a.Project, func(tx project.Tx) ([]record.Agent, error) { return record.AgentsBelow(tx, id) })
	below = record.Filter(below, "running")
	slices.SortStableFunc(below, func(x, y record.Agent) int { return cmp.Compare(x.Depth, y.Depth) })
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

// Handoff hands control over to an agent that the caller started. It returns at once. Flame
// resolves the handoff at the agent's end, even if no caller waits.
func (a *Agents) Handoff(ctx context.Context, by project.Caller, h record.Handoff) (run record.Agent, err error) {
	if err := h.Check(); err != nil {
		return run, err
	}
	if run, err = a.directed(ctx, by, h.Agent); err != nil {
		return run, err
	}
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if run, err = record.Find(tx, run.ID); err != nil {
			return err
		}
		if err := h.MayTransfer(tx, run); err != nil {
			return err
		}
		return h.Begin(tx, a.Project.Now(), run)
	})
	if err == nil && run.State.Ended() {
		err = a.resolve(ctx, run)
	}
	return run, err
}

// resolve ends a handoff once its agent has ended: the parent continues, and if the agent did
// not do its work, OnFailure is applied. It does so once.
func (a *Agents) resolve(ctx context.Context, run record.Agent) error {
	var h record.Handoff
	due := false
	err := a.Project.Store.Update(ctx, func(tx project.Tx) (err error) {
		h, due, err = record.ClaimHandoff(tx, a.Project.Now(), run)
		return err
	})
	if err != nil || !due {
		return err
	}
	action := ""
	if run.State != core.AgentCompleted && h.Next == "" {
		action = string(h.OnFailure)
		err = failHandoff(ctx, a, run, &h)
	}
	if h.Transfer && h.Next == "" {
		err = errors.Join(err, a.Project.Resume(ctx, h.Session, run.ID))
	}
	h.Resolved = err == nil
	came, resultErr := a.Result(ctx, run.ID)
	return errors.Join(err, resultErr, a.Project.Store.Update(ctx, func(tx project.Tx) error {
		return errors.Join(
			record.Handoffs.Save(tx, run.ID, h),
			record.Emit(tx, a.Project.Now(), run, core.HandoffResolved, map[string]any{
				"subagent_id": run.ID, "outcome": h.Outcome, "artifacts": append(came.Artifacts, came.Files...), "on_failure": action, "next": h.Next,
			}))
	}))
}

// maxRetries is how often the action Retry of OnFailure starts another agent.
const maxRetries = 2

func failHandoff(ctx context.Context, a *Agents, run record.Agent, h *record.Handoff) error {
	why := fmt.Sprintf("agent %s: %s (%s)", run.ID, run.Outcome.Reason, run.State)
	becomes := core.Blocked
	switch h.OnFailure {
	case record.Retry:
		if h.Retries >= maxRetries || run.State == core.AgentCancelled {
			break
		}
		err := retryHandoff(ctx, a, run, h, why)
		if err == nil {
			return nil
		}
		why += "; it could not be tried again: " + err.Error()
	case record.Abort:
		becomes = core.Failed
		if err := cancelBeside(ctx, a, run); err != nil {
			return err
		}
	}
	return children.EndParentFrame(ctx, a.Project, parentOf(run), run.Frame, becomes, why)
}

// retryHandoff starts another agent in the session of the failed one, with the original task
// and a report of the failure.
func retryHandoff(ctx context.Context, a *Agents, run record.Agent, h *record.Handoff, why string) error {
	again := record.Handoff{
		Transfer: h.Transfer, OnFailure: h.OnFailure, Timeout: h.Timeout, Retries: h.Retries + 1, First: cmp.Or(h.First, run.ID),
	}
	told, err := record.AssignmentOf(ctx, a.Project, again.First)
	if err != nil {
		return err
	}
	prompt := fmt.Sprintf("Attempt %d at this task ended so: %s\nHow far it came: %s\n\nThe task again:\n%s", again.Retries, why, run.Outcome.Text, told.Task)
	_, err = a.resume(ctx, parentOf(run), run.ID, prompt, func(tx project.Tx, next record.Agent) error {
		h.Next = next.ID // stored with the handoff, so that a process that resolves it again starts no second agent
		return errors.Join(record.Handoffs.Save(tx, run.ID, *h), again.Begin(tx, a.Project.Now(), next))
	})
	if err != nil && h.Next != "" {
		if _, lost := a.Find(ctx, h.Next); lost == nil {
			return nil // the next agent has a handoff of its own, even if it did not begin
		}
		h.Next = ""
	}
	return err
}

func cancelBeside(ctx context.Context, a *Agents, run record.Agent) error {
	all, err := a.Running(ctx)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ParentSession != run.ParentSession || other.ID == run.ID {
			continue
		}
		if _, err := a.Cancel(ctx, project.Caller{Session: run.ParentSession}, other.ID); err != nil {
			return err
		}
	}
	return nil
}
