package permission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flame/agents/definition"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// Records are grants, by their ids.
const Records project.Kind[Grant] = "agent_grant"

// A Grant is a person's permission for children to get more than their parent
// has.
type Grant struct {
	ID        string      `json:"id"`
	Mode      hosts.Mode  `json:"mode"`                // at most
	Agent     string      `json:"agent,omitempty"`     // name of the definition that it is for; empty: any but those of the repository
	Digest    string      `json:"digest,omitempty"`    // of that definition as it was then; another of the same name has none of it
	Session   string      `json:"session,omitempty"`   // root session that it is for; empty: any
	Once      bool        `json:"once,omitempty"`      // for the one agent that it was asked for
	Inherited bool        `json:"inherited,omitempty"` // holds for children of children too
	Delegates bool        `json:"delegates,omitempty"` // of Agent: its children may have the tools that its delegate_grants name
	Reason    string      `json:"reason"`
	MadeAt    core.Millis `json:"madeAt"`
	ExpiresAt core.Millis `json:"expiresAt,omitempty"` // 0: never
	During    []string    `json:"during,omitempty"`    // agents that ran when it was made: one with a shell could have made it
}

// Check refuses a grant that cannot be made, whoever agrees to it.
func (g Grant) Check() error {
	if _, err := hosts.ParseMode(string(g.Mode)); err != nil {
		return err
	}
	if strings.TrimSpace(g.Reason) == "" {
		return core.Invalidf("a grant needs its reason").WithHint("say what it is for: it is kept in the log")
	}
	return nil
}

// Fits reports whether the grant is for a child of this definition, in the tree of
// this root session, at this depth and time.
func (g Grant) Fits(def definition.Definition, session string, depth int, now core.Millis) bool {
	return g.isFor(def) && (g.Session == "" || g.Session == session) &&
		(depth <= 1 || g.Inherited) && (g.ExpiresAt == 0 || now < g.ExpiresAt)
}

// isFor reports whether the grant is for agents of a definition. For one that comes
// with the repository it must have been made for exactly that one.
func (g Grant) isFor(def definition.Definition) bool {
	if g.Agent == "" {
		return !def.Shipped()
	}
	return g.Agent == def.Name && g.Digest != "" && g.Digest == def.Digest()
}

// MaxName is how many characters of the name of a type of agents a notice has.
const MaxName = 40

// Lets says what the grant allows, and whom, as the rest of a sentence.
func (g Grant) Lets() string {
	whom := "agents"
	if g.Agent != "" {
		whom += " of type " + core.OneLine(g.Agent, MaxName)
	}
	if g.Delegates {
		return "those that " + whom + " start have tools that these lack"
	}
	return fmt.Sprintf("%s work in the mode %s", whom, g.Mode)
}

// Grants returns those there are, the newest first.
func Grants(tx project.Tx) ([]Grant, error) {
	all, err := Records.All(tx)
	slices.SortFunc(all, func(x, y Grant) int { return cmp.Or(cmp.Compare(y.MadeAt, x.MadeAt), cmp.Compare(x.ID, y.ID)) })
	return all, err
}

// GrantFor returns the widest grant that fits an agent of a definition, in the tree of
// a root session and at a depth, or the one that was made for it alone; nil without
// one.
func GrantFor(all []Grant, def definition.Definition, alone, session string, depth int, now core.Millis) (widest *Grant) {
	for _, g := range all {
		switch {
		case alone != "" && g.ID == alone && g.isFor(def):
			return &g
		case !g.Delegates && !g.Once && g.Fits(def, session, depth, now) && (widest == nil || g.Mode.Exceeds(widest.Mode)):
			widest = &g
		}
	}
	return widest
}

// Passes returns the tools that the children of an agent may have though it may not
// itself: those that its definition names, where a person agreed (spec: agents
// §3).
func Passes(all []Grant, def definition.Definition, now core.Millis) []string {
	if slices.ContainsFunc(all, func(g Grant) bool { return g.Delegates && g.Agent != "" && g.Fits(def, g.Session, 0, now) }) {
		return def.DelegateGrants
	}
	return nil
}

// Spend takes away a grant that was for one agent, once that has it.
func Spend(tx project.Tx, id string) error {
	var g Grant
	if known, err := Records.Load(tx, id, &g); err != nil || !known || !g.Once {
		return err
	}
	return Records.Delete(tx, id)
}
