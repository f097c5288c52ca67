package handoff

import (
	"cmp"
	"time"

	"flame/core"
)

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

// defaultTimeout is how long a handoff lasts by default (seed 004).
const defaultTimeout = 10 * time.Minute

// A Request hands over to an agent.
type Request struct {
	ID        string
	Transfer  bool          // the parent's session changes no frames until it ends; else it only watches
	Timeout   time.Duration // 0: ten minutes
	OnFailure OnFailure     // empty: Escalate
}

// Handoff returns the handoff that is asked for.
func (r Request) Handoff() (Handoff, error) {
	h := Handoff{Transfer: r.Transfer, OnFailure: cmp.Or(r.OnFailure, Escalate)}
	if err := core.OneOf("on_failure", h.OnFailure); err != nil {
		return h, err
	}
	if r.Timeout < 0 {
		return h, core.Invalidf("timeout is negative").WithHint("leave it out for ten minutes")
	}
	h.Timeout = core.Millis(cmp.Or(r.Timeout, defaultTimeout).Milliseconds())
	return h, nil
}
