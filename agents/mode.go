package agents

import (
	"cmp"
	"slices"
	"strings"

	"flame/core"
)

// A Mode says what an agent may do without being asked for each thing. The names
// are Claude Code's.
type Mode string

// The modes, from the narrowest to the widest (spec: agents §3).
const (
	Plan        Mode = "plan"              // reads only
	DontAsk     Mode = "dontAsk"           // does what is allowed by rules, nothing else
	Default     Mode = "default"           // asks; without a person to ask, as DontAsk
	AcceptEdits Mode = "acceptEdits"       // changes files
	Bypass      Mode = "bypassPermissions" // everything
)

// lattice is the order of the modes.
var lattice = []Mode{Plan, DontAsk, Default, AcceptEdits, Bypass}

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	if mode := Mode(name); slices.Contains(lattice, mode) {
		return mode, nil
	}
	return "", core.Invalidf("there is no permission mode %q", name).WithHint("use %s", strings.Join(Mode("").Values(), ", "))
}

// Values lists the modes, from the narrowest to the widest.
func (Mode) Values() []string { return core.Words(lattice...) }

// rank is the mode's place in the lattice. One that nobody knows counts as
// Default, so that it neither widens nor blocks.
func (m Mode) rank() int {
	if i := slices.Index(lattice, m); i >= 0 {
		return i
	}
	return slices.Index(lattice, Default)
}

// Exceeds reports whether m allows more than other.
func (m Mode) Exceeds(other Mode) bool { return m.rank() > other.rank() }

// A ModeChoice is the mode of a child and how it came about.
type ModeChoice struct {
	Requested Mode   `json:"requested,omitempty"` // by the call, else by the definition; empty: neither
	Effective Mode   `json:"effective"`
	CappedBy  string `json:"cappedBy,omitempty"` // what lowered it: "parent" or "grant"; empty: nothing
	Grant     string `json:"grant,omitempty"`    // id of the human's grant that it rests on
}

// A ModeQuestion is what a child's mode depends on.
type ModeQuestion struct {
	Call       Mode   // asked for in the call; empty: nothing
	Definition Mode   // that of the definition; empty: none
	Type       string // built-in type of the definition, for its default; may be empty
	Parent     Mode   // of the caller, as its host tells it; empty where that is unknown
	Grant      *Grant // that fits the child; nil: none
}

// ChooseMode returns a child its mode: what is asked for, never more than the
// parent has. Bypass needs a grant that a person made outside of any model; with
// one, the parent's own mode is no cap (spec: agents §3).
func ChooseMode(q ModeQuestion) ModeChoice {
	parent := q.Parent
	if !slices.Contains(lattice, parent) {
		parent = Default
	}
	choice := ModeChoice{Requested: cmp.Or(q.Call, q.Definition)}
	choice.Effective = cmp.Or(choice.Requested, modeOfType(q.Type), parent)
	if choice.Effective.rank() <= parent.rank() && choice.Effective != Bypass {
		return choice
	}
	if q.Grant != nil && !choice.Effective.Exceeds(q.Grant.Mode) {
		choice.Grant = q.Grant.ID
		return choice
	}
	if choice.Effective.Exceeds(parent) {
		choice.Effective, choice.CappedBy = parent, "parent"
	}
	if choice.Effective == Bypass {
		choice.Effective, choice.CappedBy = AcceptEdits, "grant"
	}
	return choice
}

// modeOfType is the default of the built-in types: readers plan, a builder works
// in its parent's mode.
func modeOfType(kind string) Mode {
	switch kind {
	case "analyzer", "tester", "retriever":
		return Plan
	}
	return ""
}
