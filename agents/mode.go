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

// ChooseMode gives a child its mode: what is asked for, never more than the
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

// A Grant is a person's permission for children to get more than their parent
// has.
type Grant struct {
	ID        string      `json:"id"`
	Mode      Mode        `json:"mode"`                // at most
	Agent     string      `json:"agent,omitempty"`     // name of the definition that it is for; empty: any
	Digest    string      `json:"digest,omitempty"`    // of that definition as it was then; another of the same name has none of it
	Session   string      `json:"session,omitempty"`   // root session that it is for; empty: any
	Once      bool        `json:"once,omitempty"`      // for the one agent that it was asked for
	Inherited bool        `json:"inherited,omitempty"` // holds for children of children too
	Delegates bool        `json:"delegates,omitempty"` // of Agent: its children may have the tools that its delegate_grants name
	Reason    string      `json:"reason"`
	MadeAt    core.Millis `json:"madeAt"`
	ExpiresAt core.Millis `json:"expiresAt,omitempty"` // 0: never
}

// Fits reports whether the grant is for a child of this definition, in the tree of
// this root session, at this depth and time.
func (g Grant) Fits(def Definition, session string, depth int, now core.Millis) bool {
	return (g.Agent == "" || g.Agent == def.Name && g.Digest == def.Digest()) && (g.Session == "" || g.Session == session) &&
		(depth <= 1 || g.Inherited) && (g.ExpiresAt == 0 || now < g.ExpiresAt)
}
