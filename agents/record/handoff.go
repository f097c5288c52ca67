package record

import (
	"cmp"
	"context"
	"errors"
	"unicode"

	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// Handoffs stores handoffs, by subagent_id.
const Handoffs project.RecordKind[Handoff] = "handoff"

// A Handoff gives control to an agent. The process that sees the agent end resolves the
// handoff, so no caller has to wait.
type Handoff struct {
	Agent     string      `json:"subagent_id"`
	Session   string      `json:"parentSession"`
	Transfer  bool        `json:"transferControl"`
	OnFailure OnFailure   `json:"onFailure"`
	Timeout   core.Millis `json:"timeout"` // of each attempt
	Due       core.Millis `json:"due"`
	First     string      `json:"first,omitempty"` // agent of the first attempt, if this is a later one
	Retries   int         `json:"retries,omitempty"`
	Outcome   string      `json:"outcome,omitempty"` // success, failure or timeout; empty until it is resolved
	Next      string      `json:"next,omitempty"`    // agent of the next attempt
	Claimed   core.Millis `json:"claimed,omitempty"` // when a process began to resolve it
	Resolved  bool        `json:"resolved,omitempty"`
}

// MayTransfer returns an error if the session has handed control over already.
func (h Handoff) MayTransfer(tx project.Tx, run Agent) error {
	if !h.Transfer || run.State.Ended() {
		return nil
	}
	other, err := project.RecordSuspended.Find(tx, run.ParentSession)
	if err == nil && other != "" && other != run.ID {
		err = core.Invalidf("the session handed control to %s", other).WithHint("wait for its end, or leave transfer_control out to watch %s", run.ID)
	}
	return err
}

// Begin stores the handoff to an agent. A second request before its end replaces the values
// that it names; a transfer of control remains one. An equal request changes nothing.
func (h Handoff) Begin(tx project.Tx, now core.Millis, run Agent) error {
	known, there, err := Handoffs.Get(tx, run.ID)
	if err != nil || known.Outcome != "" {
		return err
	}
	asked := h
	if there {
		h = known
	}
	h.Agent, h.Session, h.Transfer = run.ID, run.ParentSession, known.Transfer || asked.Transfer
	h.OnFailure = cmp.Or(asked.OnFailure, known.OnFailure, Escalate)
	if h.Timeout = cmp.Or(asked.Timeout, known.Timeout, defaultTimeout); h.Timeout != known.Timeout {
		h.Due = now + h.Timeout
	}
	if there && h == known {
		return nil
	}
	if h.Transfer && !run.State.Ended() {
		if err := project.Suspend(tx, h.Session, run.ID); err != nil {
			return err
		}
	}
	mode := "monitor" // the words of the specification (seed 004)
	if h.Transfer {
		mode = "transfer_control"
	}
	return errors.Join(
		Handoffs.Save(tx, run.ID, h),
		Emit(tx, now, run, core.HandoffInitiated, map[string]any{
			"parent_session_id": h.Session, "subagent_id": run.ID, "handoff_mode": mode, "on_failure": h.OnFailure, "due": h.Due,
		}))
}

// HandoffOrders gives the agent of a handoff the time of the handoff, and stops the agent
// after that.
func HandoffOrders(tx project.Tx, now core.Millis, id string) (supervise.Directive, error) {
	h, known, err := Handoffs.Get(tx, id)
	if err != nil || !known || h.Outcome != "" {
		return supervise.Directive{}, err
	}
	if now < h.Due {
		return supervise.Directive{Until: h.Due}, nil
	}
	return supervise.Directive{Stop: core.AgentTimeout, Reason: "the handoff timed out"}, nil
}

// claimTime is how long a process may take to resolve a handoff before others consider it
// dead.
const claimTime = core.Millis(60_000)

// ClaimHandoff claims the handoff to an ended agent for this process, and reports whether this
// process must resolve it. Only one process resolves a handoff, unless it seems to have died.
func ClaimHandoff(tx project.Tx, now core.Millis, run Agent) (h Handoff, due bool, err error) {
	h, known, err := Handoffs.Get(tx, run.ID)
	if due = known && !h.Resolved && (h.Claimed == 0 || now-h.Claimed > claimTime); err != nil || !due {
		return h, false, err
	}
	h.Outcome, h.Claimed = OutcomeOf(run.State), now
	return h, true, errors.Join(
		Handoffs.Save(tx, run.ID, h),
		Emit(tx, now, run, core.HandoffComplete, map[string]any{"subagent_id": run.ID, "outcome": h.Outcome}))
}

// ReleaseSessions resumes sessions that handed control to agents that have ended, if the
// process that should have resolved the handoff was killed.
func ReleaseSessions(ctx context.Context, p *project.Project, running map[string]ActiveAgent) error {
	waiting, err := project.Read(ctx, p, func(tx project.Tx) ([]Handoff, error) {
		_, waiting, err := Handoffs.Where(tx, "waiting", "", string(unicode.MaxRune))
		return waiting, err
	})
	if err != nil {
		return err
	}
	for _, h := range waiting {
		if _, runs := running[h.Agent]; runs {
			continue
		}
		run, err := project.Read(ctx, p, func(tx project.Tx) (Agent, error) { return Find(tx, h.Agent) })
		if err == nil && (!run.State.Ended() || p.Now()-run.EndedAt < claimTime) {
			continue // a process may be about to resolve the handoff
		}
		if err := p.Resume(ctx, h.Session, h.Agent); err != nil {
			return err
		}
	}
	return nil
}

// OnFailure is what happens to a parent whose agent does not do its work.
type OnFailure string

// The values of OnFailure (seed 004).
const (
	Retry    OnFailure = "retry"    // another agent tries again, with a report of the failure
	Abort    OnFailure = "abort"    // the parent's frame fails
	Escalate OnFailure = "escalate" // the parent's frame is blocked, for a person or the parent to decide
)

// Values lists the values of OnFailure.
func (OnFailure) Values() []string { return core.Words(Retry, Abort, Escalate) }

// defaultTimeout is how long a handoff lasts by default, in ms (seed 004).
const defaultTimeout = core.Millis(10 * 60 * 1000)

// Check returns an error for an invalid request. Omitted fields are zero (see Begin).
func (h Handoff) Check() error {
	if err := core.CheckEnum("on_failure", cmp.Or(h.OnFailure, Escalate)); err != nil {
		return err
	}
	if h.Timeout < 0 {
		return core.Invalidf("timeout is negative").WithHint("leave it out for ten minutes")
	}
	return nil
}
