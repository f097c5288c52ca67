package agents

import (
	"cmp"
	"context"
	"slices"

	"flame/project"
)

// List gives the agents of the project, those started last first.
func (a *Agents) List(ctx context.Context) (runs []Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		runs, err = list(tx)
		return err
	})
	return runs, err
}

func list(tx project.Tx) ([]Run, error) {
	runs, err := recordRun.All(tx)
	slices.SortFunc(runs, func(x, y Run) int {
		return cmp.Or(cmp.Compare(y.CreatedAt, x.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return runs, err
}

// Below gives the agents that one started, at any depth, the newest first; all of
// the project's for an empty id.
func (a *Agents) Below(ctx context.Context, id string) ([]Run, error) {
	all, err := a.List(ctx)
	if err != nil || id == "" {
		return all, err
	}
	run, err := a.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	below := family(all, run.ID)[1:]
	return slices.DeleteFunc(all, func(run Run) bool { return !slices.Contains(below, run.ID) }), nil
}

// family gives an agent's id with those of all below it.
func family(all []Run, id string) []string {
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		for _, run := range all {
			if run.ParentAgent == ids[i] && !slices.Contains(ids, run.ID) {
				ids = append(ids, run.ID)
			}
		}
	}
	return ids
}

// Filter gives those of the agents that run, or that have ended; all for another
// word.
func Filter(all []Run, which string) []Run {
	switch which {
	case "running":
		return slices.DeleteFunc(slices.Clone(all), func(run Run) bool { return run.State.Ended() })
	case "ended":
		return slices.DeleteFunc(slices.Clone(all), func(run Run) bool { return !run.State.Ended() })
	}
	return all
}

// Running gives the agents that something is still to be done about.
func (a *Agents) Running(ctx context.Context) (runs []Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		ids, err := recordLive.IDs(tx)
		for _, id := range ids {
			var run Run
			if _, err := recordRun.Load(tx, id, &run); err != nil {
				return err
			}
			runs = append(runs, run)
		}
		return err
	})
	return runs, err
}
