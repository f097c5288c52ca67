package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"flame/agents/handoff"
	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/children"
)

// Handoff hands over to an agent that the caller started. It returns at once; what
// follows the agent's end happens whether or not anyone waits.
func (a *Agents) Handoff(ctx context.Context, by project.Caller, r handoff.Request) (run record.Run, err error) {
	h, err := r.Handoff()
	if err != nil {
		return run, err
	}
	if run, err = a.directed(ctx, by, r.ID); err != nil {
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

// resolve does what follows the end of an agent that was handed over to, once: the
// parent goes on, and where the agent did not do its work, what was asked for.
func (a *Agents) resolve(ctx context.Context, run record.Run) error {
	r, due := resolution{a: a, run: run}, false
	err := a.Project.Store.Update(ctx, func(tx project.Tx) (err error) {
		r.handoff, due, err = handoff.Claim(tx, a.Project.Now(), run)
		return err
	})
	if err != nil || !due {
		return err
	}
	action := ""
	if run.State != core.AgentCompleted && r.handoff.Next == "" {
		action = string(r.handoff.OnFailure)
		err = r.fail(ctx)
	}
	h := r.handoff
	if h.Transfer && h.Next == "" {
		err = errors.Join(err, a.Project.Resume(ctx, h.Session))
	}
	h.Resolved = err == nil
	came, resultErr := a.Result(ctx, run.ID)
	return errors.Join(err, resultErr, a.Project.Store.Update(ctx, func(tx project.Tx) error {
		return errors.Join(
			handoff.Records.Save(tx, run.ID, h),
			record.Tell(tx, a.Project.Now(), run, core.HandoffResolved, map[string]any{
				"subagent_id": run.ID, "outcome": h.Outcome, "artifacts": append(came.Artifacts, came.Files...), "on_failure": action, "next": h.Next,
			}))
	}))
}

// A resolution is what follows the end of an agent that was handed over to.
type resolution struct {
	a       *Agents
	run     record.Run // that ended
	handoff handoff.Handoff
}

// maxRetries is how often OnFailure's Retry tries again.
const maxRetries = 2

// fail does what was asked for should the agent not do its work.
func (r *resolution) fail(ctx context.Context) error {
	run := r.run
	why := fmt.Sprintf("agent %s: %s (%s)", run.ID, run.Outcome.Reason, run.State)
	becomes := core.Blocked
	switch r.handoff.OnFailure {
	case handoff.Retry:
		if r.handoff.Retries >= maxRetries || run.State == core.AgentCancelled {
			break
		}
		err := r.retry(ctx, why)
		if err == nil {
			return nil
		}
		why += "; it could not be tried again: " + err.Error()
	case handoff.Abort:
		becomes = core.Failed
		if err := r.cancelBeside(ctx); err != nil {
			return err
		}
	}
	return children.EndAbove(ctx, r.a.Project, parentOf(run), run.Frame, becomes, why)
}

// retry has another agent go on in the session of one that failed, with the task as
// it was asked at first, and what is known of the failure.
func (r *resolution) retry(ctx context.Context, why string) error {
	a, run, h := r.a, r.run, &r.handoff
	again := handoff.Handoff{
		Transfer: h.Transfer, OnFailure: h.OnFailure, Timeout: h.Timeout, Retries: h.Retries + 1, First: cmp.Or(h.First, run.ID),
	}
	told, err := record.AssignmentOf(ctx, a.Project.Store, again.First)
	if err != nil {
		return err
	}
	prompt := fmt.Sprintf("Attempt %d at this task ended so: %s\nHow far it came: %s\n\nThe task again:\n%s", again.Retries, why, run.Outcome.Text, told.Task)
	_, err = a.resume(ctx, parentOf(run), run.ID, prompt, func(tx project.Tx, next record.Run) error {
		h.Next = next.ID // kept with it: whoever resolves this anew must not try once more
		return errors.Join(handoff.Records.Save(tx, run.ID, *h), again.Begin(tx, a.Project.Now(), next))
	})
	if err != nil && h.Next != "" {
		_, lost := a.Find(ctx, h.Next)
		if lost == nil {
			return nil // what becomes of one that did not begin, its own handoff tells
		}
		h.Next = ""
	}
	return err
}

// cancelBeside stops the agents that the same session started.
func (r *resolution) cancelBeside(ctx context.Context) error {
	all, err := r.a.Running(ctx)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ParentSession != r.run.ParentSession || other.ID == r.run.ID {
			continue
		}
		if _, err := r.a.Cancel(ctx, project.Caller{Session: r.run.ParentSession}, other.ID); err != nil {
			return err
		}
	}
	return nil
}
