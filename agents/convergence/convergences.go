package convergence

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// Convergences are those of a project.
type Convergences struct {
	Project *project.Project
	Data    string         // the project's data folder
	Hosts   hosts.Registry // whose logs tell what agents said
}

// Make makes one result of those of several agents, where the caller may end those that
// it leaves running.
func (all Convergences) Make(ctx context.Context, by project.Caller, ids []string, o converge.Options) (c Convergence, err error) {
	p := all.Project
	c = Convergence{ID: p.NewID("converge"), Session: cmp.Or(by.Session, project.CommandLine), Options: o, CreatedAt: p.Now()}
	err = p.Store.Update(ctx, func(tx project.Tx) error {
		if c.Inputs, c.Options.Schema, err = all.inputs(tx, ids, o.Schema); err != nil {
			return err
		}
		if err := mayEnd(tx, by, c.Inputs); err != nil {
			return err
		}
		if err := c.converge(p.Now()); err != nil {
			return err
		}
		return errors.Join(
			c.tell(tx, core.ConvergenceInitiated, map[string]any{"convergence": c.ID, "subagent_ids": c.Result.Inputs, "strategy": o.Strategy}),
			c.keep(tx, converge.Result{}))
	})
	return c, err
}

// Review settles conflicts of a convergence as a person says: the id of the side
// that wins, by the conflict's id.
func (all Convergences) Review(ctx context.Context, id string, choices map[string]string) (c Convergence, err error) {
	err = all.Project.Store.Update(ctx, func(tx project.Tx) error {
		if c, err = find(tx, id); err != nil {
			return err
		}
		chosen := map[string]string{}
		for _, more := range []map[string]string{c.Options.Choices, choices} {
			for conflict, side := range more {
				chosen[conflict] = side
			}
		}
		before := c.Result
		c.Options.Choices = chosen
		if err := c.converge(all.Project.Now()); err != nil {
			return err
		}
		return c.keep(tx, before)
	})
	return c, err
}

// Find returns one by its id.
func (all Convergences) Find(ctx context.Context, id string) (c Convergence, err error) {
	err = all.Project.Store.View(ctx, func(tx project.Tx) error {
		c, err = find(tx, id)
		return err
	})
	return c, err
}

func find(tx project.Tx, id string) (c Convergence, err error) {
	known, err := Records.Load(tx, strings.TrimSpace(id), &c)
	if err == nil && !known {
		err = core.NotFoundf("there is no convergence %q", id).WithHint("`flame agents review` lists those there are")
	}
	return c, err
}

// List returns all there are, the newest first.
func (all Convergences) List(ctx context.Context) (list []Convergence, err error) {
	err = all.Project.Store.View(ctx, func(tx project.Tx) error {
		list, err = Records.All(tx)
		return err
	})
	slices.SortFunc(list, func(x, y Convergence) int {
		return cmp.Or(cmp.Compare(y.CreatedAt, x.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return list, err
}

// mayEnd refuses a convergence that would stop agents which the caller may not.
func mayEnd(tx project.Tx, by project.Caller, inputs []converge.Input) error {
	for _, in := range inputs {
		run, err := record.Find(tx, in.SubagentID)
		if err == nil && !run.State.Ended() {
			err = record.MayDirect(tx, by, run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
