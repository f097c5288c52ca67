package agents

import (
	"context"
	"errors"

	"flame/agents/changes"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/project"
	"flame/project/children"
)

// Spawn starts an agent for the caller and returns its record. It returns as soon
// as its supervisor runs; nothing of it runs where there is an error.
func (a *Agents) Spawn(ctx context.Context, by project.Caller, r plan.Request) (record.Run, error) {
	p, err := a.planner().Asked(ctx, by, r)
	if err != nil {
		return record.Run{}, err
	}
	return a.Begin(ctx, p)
}

// Begin starts the agent of a plan, if things still allow it, as Spawn does.
func (a *Agents) Begin(ctx context.Context, p plan.Plan) (run record.Run, err error) {
	if p.Known {
		return p.Agent, nil
	}
	p.Agent.Base = changes.Commit(ctx, p.Agent.Cwd)
	if p.Agent.Elsewhere() {
		if err := pack(ctx, a.Elsewhere, &p.Agent); err != nil {
			return record.Run{}, err
		}
	}
	var made children.Delegated
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		run, made, err = a.planner().Admit(tx, p)
		return err
	})
	switch {
	case err != nil:
		return record.Run{}, err
	case run.ID != p.Agent.ID: // another call with the same key came first
		return run, nil
	}
	made.Log()
	return a.start(ctx, run)
}

// start has an agent that was let in run, or ends it.
func (a *Agents) start(ctx context.Context, admitted record.Run) (run record.Run, err error) {
	if admitted.ResumedFrom == "" {
		run, err = a.launcher().isolate(ctx, admitted)
	} else {
		run, err = admitted, admitted.Own().Restore(ctx, a.Dir, record.Patch(a.Data, admitted.ResumedFrom))
	}
	if err == nil {
		err = a.launcher().launch(ctx, run)
	}
	if err != nil {
		return admitted, errors.Join(err, a.unstarted(ctx, admitted.ID, err))
	}
	return run, nil
}
