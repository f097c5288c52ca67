package agents

import (
	"cmp"
	"context"
	"slices"

	"flame/project"
)

// List returns the agents of the project, those started last first.
func (a *Agents) List(ctx context.Context) (runs []Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		runs, err = list(tx)
		return err
	})
	return runs, err
}

func list(tx project.Tx) ([]Run, error) {
	runs, err := recordRun.All(tx)
	slices.SortFunc(runs, newestFirst)
	return runs, err
}

func newestFirst(x, y Run) int {
	return cmp.Or(cmp.Compare(y.CreatedAt, x.CreatedAt), cmp.Compare(x.ID, y.ID))
}

// Below returns the agents that one started, at any depth, the newest first; all of
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
	below := map[string]bool{}
	for _, id := range family(all, run.ID)[1:] {
		below[id] = true
	}
	return slices.DeleteFunc(all, func(run Run) bool { return !below[run.ID] }), nil
}

// family returns an agent's id with those of all below it, each once, whatever the
// records say of who started whom.
func family(all []Run, id string) []string {
	started := map[string][]string{}
	for _, run := range all {
		started[run.ParentAgent] = append(started[run.ParentAgent], run.ID)
	}
	ids, seen := []string{id}, map[string]bool{id: true}
	for i := 0; i < len(ids); i++ {
		for _, child := range started[ids[i]] {
			if !seen[child] {
				seen[child] = true
				ids = append(ids, child)
			}
		}
	}
	return ids
}

// Filter returns those of the agents that run, or that have ended; all for another
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

// Running returns the agents that something is still to be done about.
func (a *Agents) Running(ctx context.Context) (runs []Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		ids, err := recordLive.IDs(tx, "")
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
