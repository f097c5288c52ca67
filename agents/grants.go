package agents

import (
	"cmp"
	"context"
	"slices"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

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

// MakeGrant keeps a person's permission for children to get more than their parent
// has. It is for doors behind which a person stands; as nothing can keep an agent with
// a shell from such a door, one that is made while agents run is told to the session
// that started them.
func (a *Agents) MakeGrant(ctx context.Context, g Grant) (Grant, error) {
	if _, err := hosts.ParseMode(string(g.Mode)); err != nil {
		return g, err
	}
	if g.Reason == "" {
		return g, core.Invalidf("a grant needs its reason").WithHint("say what it is for: it is kept in the log")
	}
	if g.Agent != "" && g.Digest == "" {
		def, err := a.Catalog(a.Dir).Find(g.Agent)
		if err != nil {
			return g, err
		}
		g.Digest = def.Digest()
	}
	g.ID, g.MadeAt = a.Project.NewID("grant"), a.Project.Now()
	err := a.Project.Store.Update(ctx, func(tx project.Tx) error {
		ran, err := atWork(tx)
		if err != nil {
			return err
		}
		g.During = nil // f may run again
		for _, run := range ran {
			g.During = append(g.During, run.ID)
		}
		if err := recordGrant.Save(tx, g.ID, g); err != nil {
			return err
		}
		for tree, theirs := range lo.GroupBy(ran, func(run Run) string { return run.Tree }) {
			if err := notify(tx, tree, g, theirs); err != nil {
				return err
			}
		}
		return a.tell(tx, Run{ParentSession: g.Session}, core.PermissionGranted, map[string]any{"grant": g})
	})
	return g, err
}

// RevokeGrant takes a grant back. Agents that run on it go on.
func (a *Agents) RevokeGrant(ctx context.Context, id string) error {
	return a.Project.Store.Update(ctx, func(tx project.Tx) error {
		var g Grant
		if known, err := recordGrant.Load(tx, id, &g); err != nil || !known {
			return cmp.Or[error](err, core.NotFoundf("there is no grant %q", id).WithHint("`flame agents grants` shows those there are"))
		}
		return recordGrant.Delete(tx, id)
	})
}

// Grants returns those there are, the newest first.
func (a *Agents) Grants(ctx context.Context) (all []Grant, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		all, err = grants(tx)
		return err
	})
	return all, err
}

func grants(tx project.Tx) ([]Grant, error) {
	all, err := recordGrant.All(tx)
	slices.SortFunc(all, func(x, y Grant) int { return cmp.Or(cmp.Compare(y.MadeAt, x.MadeAt), cmp.Compare(x.ID, y.ID)) })
	return all, err
}

// grantFor returns the widest grant that fits an agent of a definition, or the one
// that was made for it alone; nil without one.
func grantFor(all []Grant, run Run, def definition.Definition, alone string, now core.Millis) (widest *Grant) {
	for _, g := range all {
		switch {
		case alone != "" && g.ID == alone && g.isFor(def):
			return &g
		case !g.Delegates && !g.Once && g.Fits(def, run.Tree, run.Depth, now) && (widest == nil || g.Mode.Exceeds(widest.Mode)):
			widest = &g
		}
	}
	return widest
}

// stillGranted refuses an agent that goes on by a grant which is gone.
func stillGranted(tx project.Tx, run Run, now core.Millis) error {
	if run.Mode.Grant == "" {
		return nil
	}
	var g Grant
	known, err := recordGrant.Load(tx, run.Mode.Grant, &g)
	if err == nil && (!known || g.ExpiresAt > 0 && g.ExpiresAt <= now) {
		err = core.Invalidf("%s worked in the mode %s by %s, which no longer holds", run.ID, run.Mode.Effective, run.Mode.Grant).
			WithHint("grant it again, or start another agent")
	}
	return err
}

// passes returns the tools that the children of an agent may have though it may not
// itself: those that its definition names, where a person agreed (spec: agents
// §3).
func passes(all []Grant, def definition.Definition, now core.Millis) []string {
	if slices.ContainsFunc(all, func(g Grant) bool { return g.Delegates && g.Agent != "" && g.Fits(def, g.Session, 0, now) }) {
		return def.DelegateGrants
	}
	return nil
}

// spent takes away a grant that was for one agent, once that has it.
func spent(tx project.Tx, id string) error {
	var g Grant
	if known, err := recordGrant.Load(tx, id, &g); err != nil || !known || !g.Once {
		return err
	}
	return recordGrant.Delete(tx, id)
}
