package agents

import (
	"context"

	"flame/agents/record"
	"flame/project"
)

// List returns the agents of the project, those started last first.
func (a *Agents) List(ctx context.Context) (runs []record.Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		runs, err = record.List(tx)
		return err
	})
	return runs, err
}

// Below returns the agents that one started, at any depth, the newest first; all of
// the project's for an empty id.
func (a *Agents) Below(ctx context.Context, id string) (runs []record.Run, err error) {
	if id == "" {
		return a.List(ctx)
	}
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		runs, err = record.Below(tx, id)
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
