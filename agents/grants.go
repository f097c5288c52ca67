package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/briefing"
)

// Grant stores a person's permission that children may get more than their parent has. Only
// doors for people call it. An agent with a shell can use such a door too, so flame notifies
// sessions with running agents of each new grant.
func (a *Agents) Grant(ctx context.Context, g plan.Grant) (plan.Grant, error) {
	if err := g.Check(); err != nil {
		return g, err
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
		ran, err := record.Running(tx)
		if err != nil {
			return err
		}
		g.During = nil // f may run again
		for _, run := range ran {
			g.During = append(g.During, run.ID)
		}
		if err := plan.Grants.Save(tx, g.ID, g); err != nil {
			return err
		}
		for tree, theirs := range lo.GroupBy(ran, func(run record.Agent) string { return run.Tree }) {
			if err := notify(tx, tree, g, theirs); err != nil {
				return err
			}
		}
		return record.Emit(tx, g.MadeAt, record.Agent{ParentSession: g.Session}, core.PermissionGranted, map[string]any{"grant": g})
	})
	return g, err
}

// notify leaves a notice of a grant for the session at the root of a tree with running agents.
func notify(tx project.Tx, tree string, g plan.Grant, ran []record.Agent) error {
	session := tree
	switch _, err := tx.Session(tree); {
	case errors.Is(err, core.ErrNotFound): // agents that a shell started have a frame at their root
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
	names := lo.Map(ran, func(run record.Agent, _ int) string {
		return fmt.Sprintf("%s (%s)", run.ID, core.OneLine(run.Type, plan.MaxName))
	})
	if more := len(names) - maxRan; more > 0 {
		names = append(names[:maxRan], fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("%s was made while agents that this session started ran: %s. It lets %s.", g.ID, strings.Join(names, ", "), g.Describe())
	return briefing.Notify(tx, session, fmt.Sprintf("%s If the user did not make it, `flame agents grant --revoke %s` takes it back.", text, g.ID))
}

// maxRan is how many agents a notice names. A longer notice would be cut before its end, which
// says what to do.
const maxRan = 5

// Revoke withdraws a grant. Agents that run under it continue.
func (a *Agents) Revoke(ctx context.Context, id string) error {
	return a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if _, known, err := plan.Grants.Get(tx, id); err != nil || !known {
			return cmp.Or[error](err, core.NotFoundf("there is no grant %q", id).WithHint("`flame agents grant` shows those there are"))
		}
		return plan.Grants.Delete(tx, id)
	})
}

// Grants returns all grants, the newest first.
func (a *Agents) Grants(ctx context.Context) ([]plan.Grant, error) {
	return project.Read(ctx, a.Project, func(tx project.Tx) ([]plan.Grant, error) { return plan.ListGrants(tx, 0) })
}

// Converge merges the results of several agents into one, and cancels the agents that
// first_success no longer needs.
func (a *Agents) Converge(ctx context.Context, by project.Caller, ids []string, o converge.Options) (c converge.Convergence, err error) {
	if c, err = a.Convergences().Make(ctx, by, ids, o); err != nil {
		return c, err
	}
	for _, ignored := range c.Result.Ignored {
		if ignored.Outcome.Ended() {
			continue
		}
		if _, err := a.Cancel(ctx, by, ignored.SubagentID); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Convergences returns the convergences of the project.
func (a *Agents) Convergences() converge.Convergences {
	return converge.Convergences{Project: a.Project, Data: a.Data, Hosts: a.Hosts}
}
