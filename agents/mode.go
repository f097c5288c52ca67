package agents

import (
	"cmp"

	"flame/hosts"
)

// A ModeChoice is the mode of a child and how it came about.
type ModeChoice struct {
	Requested hosts.Mode `json:"requested,omitempty"` // by the call, else by the definition; empty: neither
	Effective hosts.Mode `json:"effective"`
	CappedBy  string     `json:"cappedBy,omitempty"` // what lowered it: "parent" or "grant"; empty: nothing
	Grant     string     `json:"grant,omitempty"`    // id of the human's grant that it rests on
}

// A ModeQuestion is what a child's mode depends on.
type ModeQuestion struct {
	Call       hosts.Mode // asked for in the call; empty: nothing
	Definition hosts.Mode // that of the definition; empty: none
	Type       string     // built-in type of the definition, for its default; may be empty
	Parent     hosts.Mode // of the caller, as its host tells it; empty where that is unknown
	Grant      *Grant     // that fits the child; nil: none
}

// ChooseMode returns a child its mode: what is asked for, never more than the
// parent has. Bypass needs a grant that a person made outside of any model; with
// one, the parent's own mode is no cap (spec: agents §3).
func ChooseMode(q ModeQuestion) ModeChoice {
	parent := q.Parent
	if !parent.Known() {
		parent = hosts.Default
	}
	choice := ModeChoice{Requested: cmp.Or(q.Call, q.Definition)}
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
