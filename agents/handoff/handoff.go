// Package handoff is what is kept of a handoff: who handed over to which agent, until
// when, and what is to follow if the agent does not do its work.
package handoff

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// Records are handoffs, by subagent_id.
const Records project.Kind[Handoff] = "handoff"

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

// MayTransfer refuses to hand control over twice.
func (h Handoff) MayTransfer(tx project.Tx, run record.Run) error {
	if !h.Transfer || run.State.Ended() {
		return nil
	}
	other, err := project.SuspendedBy(tx, run.ParentSession)
	if err == nil && other != "" && other != run.ID {
		err = core.Invalidf("the session handed control to %s", other).WithHint("wait for its end, or leave transfer_control out to watch %s", run.ID)
	}
	return err
}

// Begin keeps the handoff to an agent. Asked again while it is under way, it takes on what
// is asked for now; a transfer stays one. The same again changes nothing.
func (h Handoff) Begin(tx project.Tx, now core.Millis, run record.Run) error {
	var known Handoff
	there, err := Records.Load(tx, run.ID, &known)
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
	return errors.Join(
		Records.Save(tx, run.ID, h),
		record.Tell(tx, now, run, core.HandoffInitiated, map[string]any{
			"parent_session_id": h.Session, "subagent_id": run.ID, "handoff_mode": h.mode(), "on_failure": h.OnFailure, "due": h.Due,
		}))
}

// Orders gives an agent that was handed over to the time of the handoff, and stops it
// when that is over.
func Orders(tx project.Tx, now core.Millis, id string) (supervise.Orders, error) {
	var h Handoff
	known, err := Records.Load(tx, id, &h)
	if err != nil || !known || h.Outcome != "" {
		return supervise.Orders{}, err
	}
	if now < h.Due {
		return supervise.Orders{Until: h.Due}, nil
	}
	return supervise.Orders{Stop: core.AgentTimeout, Reason: "the time of the handoff is over"}, nil
}

// claimTime is how long a process may take to resolve a handoff, before another takes it
// for dead.
const claimTime = core.Millis(60_000)

// Claim has this process resolve the handoff to an agent that has ended, and reports
// whether it is to: once, unless who claimed it before is taken for dead.
func Claim(tx project.Tx, now core.Millis, run record.Run) (h Handoff, due bool, err error) {
	known, err := Records.Load(tx, run.ID, &h)
	if due = known && !h.Resolved && (h.Claimed == 0 || now-h.Claimed > claimTime); err != nil || !due {
		return h, false, err
	}
	h.Outcome, h.Claimed = record.OutcomeOf(run.State), now
	return h, true, errors.Join(
		Records.Save(tx, run.ID, h),
		record.Tell(tx, now, run, core.HandoffComplete, map[string]any{"subagent_id": run.ID, "outcome": h.Outcome}))
}

// ReleaseSessions lets sessions go on that handed control to agents which are over: whoever
// was to resolve the handoff was killed.
func ReleaseSessions(ctx context.Context, p *project.Project, running map[string]record.Live) error {
	suspended, err := p.Suspended(ctx)
	if err != nil {
		return err
	}
	for session, agent := range suspended {
		if _, runs := running[agent]; runs {
			continue
		}
		var run record.Run
		err := p.Store.View(ctx, func(tx project.Tx) (err error) {
			run, err = record.Find(tx, agent)
			return err
		})
		if err == nil && (!run.State.Ended() || p.Now()-run.EndedAt < claimTime) {
			continue // the handoff may be about to be resolved
		}
		if err := p.Resume(ctx, session); err != nil {
			return err
		}
	}
	return nil
}
