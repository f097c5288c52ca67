package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// A ModeInput has everything that a child's mode depends on.
type ModeInput struct {
	Call       hosts.Mode // requested by the call; empty: none
	Definition hosts.Mode // of the definition; empty: none
	Type       string     // built-in type of the definition, for its default; may be empty
	Parent     hosts.Mode // of the caller, as its host reports it; empty if unknown
	Grant      *Grant     // a grant that fits the child; nil: none
}

// ChooseMode returns the mode of a child: the one asked for, never more than the
// parent has. Bypass needs a grant that a person made outside of any model; with
// one, the parent's own mode is no cap.
func ChooseMode(q ModeInput) record.ModeChoice {
	parent := q.Parent
	if !parent.Known() {
		parent = hosts.ModeDefault
	}
	choice := record.ModeChoice{Requested: cmp.Or(q.Call, q.Definition)}
	choice.Effective = cmp.Or(choice.Requested, parent)
	if choice.Requested == "" && slices.Contains([]string{"analyzer", "tester", "retriever"}, q.Type) {
		choice.Effective = hosts.ModePlan // readers plan; a builder works in its parent's mode
	}
	if !choice.Effective.Exceeds(parent) && choice.Effective != hosts.ModeBypass {
		return choice
	}
	if q.Grant != nil && !choice.Effective.Exceeds(q.Grant.Mode) {
		choice.Grant = q.Grant.ID
		return choice
	}
	if choice.Effective.Exceeds(parent) {
		choice.Effective, choice.CappedBy = parent, "parent"
	}
	if choice.Effective == hosts.ModeBypass {
		choice.Effective, choice.CappedBy = hosts.ModeAcceptEdits, "grant"
	}
	return choice
}

// Grants has the grants, by their ids.
const Grants project.RecordKind[Grant] = "agent_grant"

// A Grant is a person's permission that children may get more than their parent has.
type Grant struct {
	ID        string      `json:"id"`
	Mode      hosts.Mode  `json:"mode"`                // at most
	Agent     string      `json:"agent,omitempty"`     // name of its definition; empty: any definition that is not in the repository
	Digest    string      `json:"digest,omitempty"`    // of the definition at that time; the grant does not hold for another definition of the same name
	Session   string      `json:"session,omitempty"`   // its root session; empty: any
	Once      bool        `json:"once,omitempty"`      // only for the agent for which a person was asked
	Inherited bool        `json:"inherited,omitempty"` // also holds for children of children
	Delegates bool        `json:"delegates,omitempty"` // children of Agent may have the tools in its delegate_grants
	Reason    string      `json:"reason"`
	MadeAt    core.Millis `json:"madeAt"`
	ExpiresAt core.Millis `json:"expiresAt,omitempty"` // 0: never
	During    []string    `json:"during,omitempty"`    // running agents when the grant was made; an agent with a shell could have made it
}

// Check returns an error for a grant that a person cannot make.
func (g Grant) Check() error {
	if _, err := hosts.ParseMode(string(g.Mode)); err != nil {
		return err
	}
	if strings.TrimSpace(g.Reason) == "" {
		return core.Invalidf("a grant needs its reason").WithHint("say what it is for: it is kept in the log")
	}
	return nil
}

// Fits reports whether the grant holds for a child of this definition, in the tree of this
// root session, at this depth and time.
func (g Grant) Fits(def definition.Definition, session string, depth int, now core.Millis) bool {
	return g.isFor(def) && (g.Session == "" || g.Session == session) &&
		(depth <= 1 || g.Inherited) && (g.ExpiresAt == 0 || now < g.ExpiresAt)
}

// isFor reports whether the grant is for agents of a definition. A grant for a definition in
// the repository must name exactly that definition.
func (g Grant) isFor(def definition.Definition) bool {
	if g.Agent == "" {
		return !def.FromRepo()
	}
	return g.Agent == def.Name && g.Digest != "" && g.Digest == def.Digest()
}

// MaxName is the length to which notices cut the name of an agent type, in characters.
const MaxName = 40

// Describe says what the grant allows to which agents, as the rest of a sentence.
func (g Grant) Describe() string {
	whom := "agents"
	if g.Agent != "" {
		whom += " of type " + core.OneLine(g.Agent, MaxName)
	}
	if g.Delegates {
		return "those that " + whom + " start have tools that these lack"
	}
	return fmt.Sprintf("%s work in the mode %s", whom, g.Mode)
}

// ListGrants returns the grants that end after a time, the newest first.
func ListGrants(tx project.Tx, after core.Millis) ([]Grant, error) {
	_, all, err := Grants.Where(tx, "ends_at", after+1, math.MaxInt64)
	slices.SortFunc(all, func(x, y Grant) int { return cmp.Or(cmp.Compare(y.MadeAt, x.MadeAt), cmp.Compare(x.ID, y.ID)) })
	return all, err
}

// grantFor returns the widest grant for an agent of a definition, in the tree of a root
// session and at a depth, or the grant for this agent alone; nil if there is none.
func grantFor(all []Grant, def definition.Definition, alone, session string, depth int, now core.Millis) (widest *Grant) {
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

// passes returns the tools that the children of an agent may have although the agent itself
// may not: those that its definition names, if a person agreed.
func passes(all []Grant, def definition.Definition, now core.Millis) []string {
	if slices.ContainsFunc(all, func(g Grant) bool { return g.Delegates && g.Agent != "" && g.Fits(def, g.Session, 0, now) }) {
		return def.DelegateGrants
	}
	return nil
}

// spendGrant deletes a grant for a single agent once the agent has used it.
func spendGrant(tx project.Tx, id string) error {
	if g, err := Grants.Find(tx, id); err != nil || !g.Once {
		return err
	}
	return Grants.Delete(tx, id)
}

// above returns the session at the root of the caller's tree, and the number of levels of
// agents between, including hosts' own subagents.
func above(tx project.Tx, caller core.Session) (root string, depth int, err error) {
	root = caller.ID
	for parent := caller.Parent; parent != "" && depth < 100; depth++ {
		session, err := tx.Session(parent)
		if errors.Is(err, core.ErrNotFound) {
			return parent, depth + 1, nil
		}
		if err != nil {
			return root, depth, err
		}
		root, parent = session.ID, session.Parent
	}
	return root, depth, nil
}

// A callerLimits is the caller of a request, with everything that bounds the new agent.
type callerLimits struct {
	agent record.Agent  // the caller's own agent record; zero for a user's session
	host  string        // host of the caller
	role  hosts.ToolSet // tools of the host's own agent that the caller is: chosen by the user for the session, or a native subagent
	known bool          // role is complete; otherwise the caller's permissions are unknown
	mode  hosts.Mode    // mode of the caller; empty if unknown
}

// limitsOf returns what bounds the agents of a session. If the session is one of the host's own
// agents that flame does not know, its agents only read.
func (pl Planner) limitsOf(tx project.Tx, by project.Caller, caller core.Session) (asks callerLimits, err error) {
	if asks.agent, err = record.AgentOf(tx, by, caller.ID); err != nil {
		return asks, err
	}
	asks.host, asks.mode, asks.known = cmp.Or(asks.agent.Host, caller.Host), asks.agent.Mode.Effective, true
	if asks.agent.ID != "" && asks.agent.Session == caller.ID {
		return asks, nil // its record has its limits
	}
	told, err := project.PermissionsOf(tx, caller.ID)
	if err != nil {
		return asks, err
	}
	if asks.role, asks.known = pl.roleOf(pl.Hosts.Of(asks.host), told); !asks.known {
		asks.mode = hosts.ModePlan
		return asks, nil
	}
	if asks.agent.ID != "" {
		return asks, nil
	}
	if told.Mode == "" && caller.Parent != "" {
		told, err = project.PermissionsOf(tx, caller.Parent)
	}
	asks.mode = hosts.Mode(told.Mode)
	return asks, err
}

// roleOf returns the tools that a host's own agent may use, and whether flame knows them.
func (pl Planner) roleOf(host hosts.Host, told project.SessionPermissions) (role hosts.ToolSet, known bool) {
	denied, builtIn := host.Agents.BuiltIn[told.Agent]
	switch {
	case told.Rules != "":
		role, known = definition.AllowedTools(pl.Hosts, told.Rules).ToolSet(), true
	case told.Agent == "" || builtIn:
		known = true
	default:
		role, known = pl.Catalog(pl.Dir).Role(told.Agent)
	}
	return role.Without(denied...), known
}
