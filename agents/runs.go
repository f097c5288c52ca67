package agents

import (
	"context"

	"flame/agents/abroad"
	"flame/agents/record"
	"flame/agents/result"
	"flame/project"
)

// Find returns the record of an agent; a prefix of its id will do where only one has
// it.
func (a *Agents) Find(ctx context.Context, id string) (run record.Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err = record.Find(tx, id)
		return abroad.Explained(tx, id, err)
	})
	return run, err
}

// Below returns the agents that one started, at any depth, the newest first; all of
// the project's for an empty id.
func (a *Agents) Below(ctx context.Context, id string) (runs []record.Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		if id == "" {
			runs, err = record.List(tx)
		} else {
			runs, err = record.Below(tx, id)
		}
		return err
	})
	return runs, err
}

// Running returns the agents that something is still to be done about.
func (a *Agents) Running(ctx context.Context) (runs []record.Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		ids, err := record.Living.IDs(tx, "")
		for _, id := range ids {
			var run record.Run
			if _, err := record.Runs.Load(tx, id, &run); err != nil {
				return err
			}
			runs = append(runs, run)
		}
		return err
	})
	return runs, err
}

// Result returns what an agent came to.
func (a *Agents) Result(ctx context.Context, id string) (r result.Result, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		r, err = result.Of(tx, a.Data, id)
		return abroad.Explained(tx, id, err)
	})
	return r, err
}

// Abroad returns the agents of the project's other machines, as those told last.
func Abroad(ctx context.Context, p *project.Project) (all []abroad.Agent, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		all, err = abroad.List(tx, p.Now())
		return err
	})
	return all, err
}
