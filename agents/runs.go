package agents

import (
	"context"

	"flame/agents/record"
	"flame/agents/result"
	"flame/project"
)

// Find returns the record of an agent; a prefix of its id will do where only one has
// it.
func (a *Agents) Find(ctx context.Context, id string) (run record.Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err = record.Find(tx, id)
		return err
	})
	return run, err
}

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

// Result returns what an agent came to.
func (a *Agents) Result(ctx context.Context, id string) (r result.Result, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		r, err = result.Of(tx, a.Data, id)
		return err
	})
	return r, err
}

// change applies f to an agent's record in one transaction. A final record stays
// as it is: f is not called then.
func (a *Agents) change(ctx context.Context, id string, f func(tx project.Tx, run *record.Run) error) (run record.Run, err error) {
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if run, err = record.Find(tx, id); err != nil || run.State.Ended() {
			return err
		}
		if err := f(tx, &run); err != nil {
			return err
		}
		return record.Runs.Save(tx, run.ID, run)
	})
	return run, err
}
