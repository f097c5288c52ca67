// Package permission is what an agent may do: the mode that it works in, never more than
// whoever asks for it has, and what persons granted beyond that.
package permission

import (
	"cmp"

	"flame/core"
	"flame/hosts"
	"flame/project"
)

// A Choice is the mode of a child and how it came about.
type Choice struct {
	Requested hosts.Mode `json:"requested,omitempty"` // by the call, else by the definition; empty: neither
	Effective hosts.Mode `json:"effective"`
	CappedBy  string     `json:"cappedBy,omitempty"` // what lowered it: "parent" or "grant"; empty: nothing
	Grant     string     `json:"grant,omitempty"`    // id of the human's grant that it rests on
}

// A Question is what a child's mode depends on.
type Question struct {
	Call       hosts.Mode // asked for in the call; empty: nothing
	Definition hosts.Mode // that of the definition; empty: none
	Type       string     // built-in type of the definition, for its default; may be empty
	Parent     hosts.Mode // of the caller, as its host tells it; empty where that is unknown
	Grant      *Grant     // that fits the child; nil: none
}

// Choose returns a child its mode: what is asked for, never more than the
// parent has. Bypass needs a grant that a person made outside of any model; with
// one, the parent's own mode is no cap (spec: agents §3).
func Choose(q Question) Choice {
	parent := q.Parent
	if !parent.Known() {
		parent = hosts.Default
	}
	choice := Choice{Requested: cmp.Or(q.Call, q.Definition)}
	choice.Effective = cmp.Or(choice.Requested, modeOfType(q.Type), parent)
	if !choice.Effective.Exceeds(parent) && choice.Effective != hosts.Bypass {
		return choice
	}
	if q.Grant != nil && !choice.Effective.Exceeds(q.Grant.Mode) {
		choice.Grant = q.Grant.ID
		return choice
	}
	if choice.Effective.Exceeds(parent) {
		choice.Effective, choice.CappedBy = parent, "parent"
	}
	if choice.Effective == hosts.Bypass {
		choice.Effective, choice.CappedBy = hosts.AcceptEdits, "grant"
	}
	return choice
}

// modeOfType is the default of the built-in types: readers plan, a builder works
// in its parent's mode.
func modeOfType(kind string) hosts.Mode {
	switch kind {
	case "analyzer", "tester", "retriever":
		return hosts.Plan
	}
	return ""
}

// StillHolds refuses the mode to an agent that goes on by a grant which is gone.
func (c Choice) StillHolds(tx project.Tx, agent string, now core.Millis) error {
	if c.Grant == "" {
		return nil
	}
	var g Grant
	known, err := Records.Load(tx, c.Grant, &g)
	if err == nil && (!known || g.ExpiresAt > 0 && g.ExpiresAt <= now) {
		err = core.Invalidf("%s worked in the mode %s by %s, which no longer holds", agent, c.Effective, c.Grant).
			WithHint("grant it again, or start another agent")
	}
	return err
}
