package record

import (
	"flame/agents/supervise"
	"flame/core"
)

// A Live is an agent that something is still to be done about.
type Live struct {
	Starter    supervise.Process `json:"starter,omitzero"`    // who asked for it
	Supervisor supervise.Process `json:"supervisor,omitzero"` // zero until it was started
	Worker     supervise.Process `json:"worker,omitzero"`     // that runs it for another machine, and ends with it
	Again      int               `json:"again,omitempty"`     // how often one that runs elsewhere was followed again
	Since      core.Millis       `json:"since"`
	Told       core.Millis       `json:"told,omitempty"`   // last event about its progress
	Warned     bool              `json:"warned,omitempty"` // that its budget is nearly used
}

// How long an agent may be without a supervisor after it was asked for, in ms: while
// whoever asked for it lives, and when that was killed.
const (
	startPatience   = core.Millis(30_000)
	starterPatience = core.Millis(3_000)
)

// Watched reports whether an agent has, or may yet get, a supervisor that lives.
func (l Live) Watched(now core.Millis) bool {
	switch {
	case !l.Supervisor.Here() || !l.Starter.Here():
		return now-max(l.Since, l.Told) < elsewherePatience
	case l.Supervisor.PID != 0:
		return l.Supervisor.Alive()
	case l.Starter == supervise.Self() || l.Starter.Alive():
		return now-l.Since < startPatience
	}
	return now-l.Since < starterPatience
}

// elsewherePatience is how long an agent is left alone that another container
// started: from here nobody sees whether its supervisor lives.
const elsewherePatience = core.Millis(6 * 3_600_000)
