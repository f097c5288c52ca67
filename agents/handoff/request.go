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

// defaultTimeout is how long a handoff lasts by default, in ms (seed 004).
const defaultTimeout = core.Millis(10 * 60 * 1000)

// A Request hands over to an agent.
type Request struct {
	ID        string
	Transfer  bool          // the parent's session changes no frames until it ends; else it only watches
	Timeout   time.Duration // 0: as before, at first ten minutes
	OnFailure OnFailure     // empty: as before, at first Escalate
}

// Handoff returns the handoff that is asked for; what is left out is zero (Begin).
func (r Request) Handoff() (Handoff, error) {
	h := Handoff{Transfer: r.Transfer, OnFailure: r.OnFailure, Timeout: core.Millis(r.Timeout.Milliseconds())}
	if err := core.OneOf("on_failure", cmp.Or(h.OnFailure, Escalate)); err != nil {
		return h, err
	}
	if r.Timeout < 0 {
		return h, core.Invalidf("timeout is negative").WithHint("leave it out for ten minutes")
	}
	return h, nil
}
