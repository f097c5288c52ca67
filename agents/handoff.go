package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/children"
)

// recordHandoff is by subagent_id.
const recordHandoff project.Kind[Handoff] = "handoff"

// OnFailure says what becomes of a parent whose agent does not do its work.
type OnFailure string

// The ways (seed 004).
const (
	Retry    OnFailure = "retry"    // once more, with what is known of the failure
	Abort    OnFailure = "abort"    // the parent's frame fails
	Escalate OnFailure = "escalate" // the parent's frame is blocked, for a person or the parent to decide
)

// Values lists the ways.
func (OnFailure) Values() []string { return core.Words(Retry, Abort, Escalate) }

// handoffTimeout is how long a handoff lasts by default (seed 004).
const handoffTimeout = 10 * time.Minute

// maxHandoffRetries is how often OnFailure's Retry tries again.
const maxHandoffRetries = 2

// A HandoffRequest hands over to an agent.
type HandoffRequest struct {
	ID        string
	Transfer  bool          // the parent's session changes no frames until it ends; else it only watches
	Timeout   time.Duration // 0: ten minutes
	OnFailure OnFailure     // empty: Escalate
}

// A Handoff is one that is under way, or was. Whichever process sees the agent end
// resolves it, so it needs no caller that waits.
type Handoff struct {
	Agent     string      `json:"subagent_id"`
	Session   string      `json:"parentSession"`
	Transfer  bool        `json:"transferControl"`
	OnFailure OnFailure   `json:"onFailure"`
	Timeout   core.Millis `json:"timeout"` // of each attempt
	Due       core.Millis `json:"due"`
	First     string      `json:"first,omitempty"` // agent of the first attempt, where this is another
	Retries   int         `json:"retries,omitempty"`
	Outcome   string      `json:"outcome,omitempty"` // success, failure or timeout; empty while it lasts
	Next      string      `json:"next,omitempty"`    // agent that tries again
	Claimed   core.Millis `json:"claimed,omitempty"` // when a process began to resolve it
	Resolved  bool        `json:"resolved,omitempty"`
}

// UnmarshalJSON reads a record by the names that its fields have, or had at first.
func (h *Handoff) UnmarshalJSON(raw []byte) error {
	type fields Handoff
	var read struct {
		*fields
		FormerSession   string    `json:"parent_session_id"`
		FormerTransfer  bool      `json:"transfer_control"`
		FormerOnFailure OnFailure `json:"on_failure"`
	}
	read.fields = (*fields)(h)
	if err := json.Unmarshal(raw, &read); err != nil || read.FormerSession == "" {
		return err
	}
	h.Session, h.Transfer, h.OnFailure = read.FormerSession, read.FormerTransfer, read.FormerOnFailure
	return nil
}

// mode is the seed's word for it.
func (h Handoff) mode() string {
	if h.Transfer {
		return "transfer_control"
	}
	return "monitor"
}

// Handoff hands over to an agent that the caller started. It returns at once; what
// follows the agent's end happens whether or not anyone waits.
func (a *Agents) Handoff(ctx context.Context, by project.Caller, r HandoffRequest) (run record.Run, err error) {
	h := Handoff{Transfer: r.Transfer, OnFailure: cmp.Or(r.OnFailure, Escalate)}
	if err := core.OneOf("on_failure", h.OnFailure); err != nil {
		return run, err
	}
	if r.Timeout < 0 {
		return run, core.Invalidf("timeout is negative").WithHint("leave it out for ten minutes")
	}
	h.Timeout = core.Millis(cmp.Or(r.Timeout, handoffTimeout).Milliseconds())
	if run, err = a.Find(ctx, r.ID); err != nil {
		return run, err
	}
	if err := a.mayDirect(ctx, by, run); err != nil {
		return run, err
	}
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if run, err = record.Find(tx, run.ID); err != nil {
			return err
		}
		if err := mayTransfer(tx, run, h); err != nil {
			return err
		}
		return a.initiate(tx, run, h)
	})
	if err == nil && run.State.Ended() {
		err = a.resolve(ctx, run)
	}
	return run, err
}

// mayTransfer refuses to hand control over twice.
func mayTransfer(tx project.Tx, run record.Run, h Handoff) error {
	if !h.Transfer || run.State.Ended() {
		return nil
	}
	other, err := project.SuspendedBy(tx, run.ParentSession)
	if err == nil && other != "" && other != run.ID {
		err = core.Invalidf("the session handed control to %s", other).WithHint("wait for its end, or leave transfer_control out to watch %s", run.ID)
	}
	return err
}

// initiate keeps a handoff. One that is under way may become a transfer; else
// telling it again changes nothing.
func (a *Agents) initiate(tx project.Tx, run record.Run, h Handoff) error {
	h.Agent, h.Session, h.Due = run.ID, run.ParentSession, a.Project.Now()+h.Timeout
	var known Handoff
	there, err := recordHandoff.Load(tx, run.ID, &known)
	if err != nil || there && (known.Outcome != "" || known.Transfer || !h.Transfer) {
		return err
	}
	if there {
		known.Transfer = true
		h = known
	}
	if h.Transfer && !run.State.Ended() {
		if err := project.Suspend(tx, h.Session, run.ID); err != nil {
			return err
		}
	}
	return errors.Join(
		recordHandoff.Save(tx, run.ID, h),
		a.tell(tx, run, core.HandoffInitiated, map[string]any{
			"parent_session_id": h.Session, "subagent_id": run.ID, "handoff_mode": h.mode(), "on_failure": h.OnFailure, "due": h.Due,
		}))
}

// due returns an agent that was handed over to the time of the handoff, and stops it
// when that is over.
func (a *Agents) due(tx project.Tx, id string) (supervise.Orders, error) {
	var h Handoff
	known, err := recordHandoff.Load(tx, id, &h)
	if err != nil || !known || h.Outcome != "" {
		return supervise.Orders{}, err
	}
	if a.Project.Now() < h.Due {
		return supervise.Orders{Until: h.Due}, nil
	}
	return supervise.Orders{Stop: core.AgentTimeout, Reason: "the time of the handoff is over"}, nil
}

// claim is how long a process may take to resolve a handoff, before another takes
// it for dead.
const claim = core.Millis(60_000)

// resolve does what follows the end of an agent that was handed over to, once: the
// parent goes on, and where the agent did not do its work, what was asked for.
func (a *Agents) resolve(ctx context.Context, run record.Run) error {
	var h Handoff
	due := false
	err := a.Project.Store.Update(ctx, func(tx project.Tx) error {
		h = Handoff{} // f may run again
		known, err := recordHandoff.Load(tx, run.ID, &h)
		now := a.Project.Now()
		if due = known && !h.Resolved && (h.Claimed == 0 || now-h.Claimed > claim); err != nil || !due {
			return err
		}
		h.Outcome, h.Claimed = result(run.State), now
		return errors.Join(
			recordHandoff.Save(tx, run.ID, h),
			a.tell(tx, run, core.HandoffComplete, map[string]any{"subagent_id": run.ID, "outcome": h.Outcome}))
	})
	if err != nil || !due {
		return err
	}
	action := ""
	if run.State != core.AgentCompleted && h.Next == "" {
		action = string(h.OnFailure)
		err = a.fail(ctx, run, &h)
	}
	if h.Transfer && h.Next == "" {
		err = errors.Join(err, a.Project.Resume(ctx, h.Session))
	}
	h.Resolved = err == nil
	r, resultErr := a.Result(ctx, run.ID)
	return errors.Join(err, resultErr, a.Project.Store.Update(ctx, func(tx project.Tx) error {
		return errors.Join(
			recordHandoff.Save(tx, run.ID, h),
			a.tell(tx, run, core.HandoffResolved, map[string]any{
				"subagent_id": run.ID, "outcome": h.Outcome, "artifacts": append(r.Artifacts, r.Files...), "on_failure": action, "next": h.Next,
			}))
	}))
}

// fail does what was asked for should the agent not do its work.
func (a *Agents) fail(ctx context.Context, run record.Run, h *Handoff) error {
	why := fmt.Sprintf("agent %s: %s (%s)", run.ID, run.Outcome.Reason, run.State)
	becomes := core.Blocked
	switch h.OnFailure {
	case Retry:
		if h.Retries >= maxHandoffRetries || run.State == core.AgentCancelled {
			break
		}
		err := a.retry(ctx, run, h, why)
		if err == nil {
			return nil
		}
		why += "; it could not be tried again: " + err.Error()
	case Abort:
		becomes = core.Failed
		if err := a.cancelBeside(ctx, run); err != nil {
			return err
		}
	}
	return children.EndAbove(ctx, a.Project, parentOf(run), run.Frame, becomes, why)
}

// retry has another agent go on in the session of one that failed, with the task as
// it was asked at first, and what is known of the failure.
func (a *Agents) retry(ctx context.Context, run record.Run, h *Handoff, why string) error {
	again := Handoff{
		Transfer: h.Transfer, OnFailure: h.OnFailure, Timeout: h.Timeout, Retries: h.Retries + 1, First: cmp.Or(h.First, run.ID),
	}
	var told record.Assignment
	err := a.Project.Store.View(ctx, func(tx project.Tx) (err error) {
		told, err = record.AssignmentOf(tx, again.First)
		return err
	})
	if err != nil {
		return err
	}
	prompt := fmt.Sprintf("Attempt %d at this task ended so: %s\nHow far it came: %s\n\nThe task again:\n%s", again.Retries, why, run.Outcome.Text, told.Task)
	_, err = a.resume(ctx, parentOf(run), run.ID, prompt, func(tx project.Tx, next record.Run) error {
		h.Next = next.ID // kept with it: whoever resolves this anew must not try once more
		return errors.Join(recordHandoff.Save(tx, run.ID, *h), a.initiate(tx, next, again))
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
func (a *Agents) cancelBeside(ctx context.Context, run record.Run) error {
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
