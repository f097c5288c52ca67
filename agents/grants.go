package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/agents/permission"
	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/briefing"
)

// Grants are what persons allowed the agents of a project.
type Grants struct {
	project *project.Project
	catalog func() definition.Catalog
}

// Grants returns those of the project.
func (a *Agents) Grants() Grants {
	return Grants{a.Project, func() definition.Catalog { return a.Catalog(a.Dir) }}
}

// Make keeps a person's permission for children to get more than their parent
// has. It is for doors behind which a person stands; as nothing can keep an agent with
// a shell from such a door, one that is made while agents run is told to the session
// that started them.
func (all Grants) Make(ctx context.Context, g permission.Grant) (permission.Grant, error) {
	if err := g.Check(); err != nil {
		return g, err
	}
	if g.Agent != "" && g.Digest == "" {
		def, err := all.catalog().Find(g.Agent)
		if err != nil {
			return g, err
		}
		g.Digest = def.Digest()
	}
	g.ID, g.MadeAt = all.project.NewID("grant"), all.project.Now()
	err := all.project.Store.Update(ctx, func(tx project.Tx) error {
		ran, err := record.AtWork(tx)
		if err != nil {
			return err
		}
		g.During = nil // f may run again
		for _, run := range ran {
			g.During = append(g.During, run.ID)
		}
		if err := permission.Records.Save(tx, g.ID, g); err != nil {
			return err
		}
		for tree, theirs := range lo.GroupBy(ran, func(run record.Run) string { return run.Tree }) {
			if err := notify(tx, tree, g, theirs); err != nil {
				return err
			}
		}
		return record.Tell(tx, g.MadeAt, record.Run{ParentSession: g.Session}, core.PermissionGranted, map[string]any{"grant": g})
	})
	return g, err
}

// notify tells the session at the root of a tree of a grant that was made while agents
// of the tree ran.
func notify(tx project.Tx, tree string, g permission.Grant, ran []record.Run) error {
	session := tree
	switch _, err := tx.Session(tree); {
	case errors.Is(err, core.ErrNotFound): // agents of a shell are below a frame
		frame, err := tx.Frame(tree)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if session = frame.Session; err != nil || session == "" {
			return err
		}
	case err != nil:
		return err
	}
	names := lo.Map(ran, func(run record.Run, _ int) string {
		return fmt.Sprintf("%s (%s)", run.ID, core.OneLine(run.Type, permission.MaxName))
	})
	if more := len(names) - maxRan; more > 0 {
		names = append(names[:maxRan], fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("%s was made while agents that this session started ran: %s. It lets %s.", g.ID, strings.Join(names, ", "), g.Lets())
	return briefing.Notify(tx, session, fmt.Sprintf("%s If the user did not make it, `flame agents revoke %s` takes it back.", text, g.ID))
}

// maxRan is how many agents a notice names: it has to reach its end, which says what to
// do.
const maxRan = 5

// Revoke takes a grant back. Agents that run on it go on.
func (all Grants) Revoke(ctx context.Context, id string) error {
	return all.project.Store.Update(ctx, func(tx project.Tx) error {
		var g permission.Grant
		if known, err := permission.Records.Load(tx, id, &g); err != nil || !known {
			return cmp.Or[error](err, core.NotFoundf("there is no grant %q", id).WithHint("`flame agents grants` shows those there are"))
		}
		return permission.Records.Delete(tx, id)
	})
}

// List returns those there are, the newest first.
func (all Grants) List(ctx context.Context) (list []permission.Grant, err error) {
	err = all.project.Store.View(ctx, func(tx project.Tx) error {
		list, err = permission.Grants(tx)
		return err
	})
	return list, err
}
