package agents

import (
	"context"

	"flame/agents/record"
	"flame/core"
	"flame/project"
)

// ends says what the state of an agent means for its frame.
var ends = map[core.AgentState]core.ChildEnd{
	core.AgentCompleted: core.ChildCompleted,
	core.AgentTimeout:   core.ChildTimedOut,
	core.AgentCancelled: core.ChildCancelled,
	core.AgentOrphaned:  core.ChildOrphaned,
	core.AgentError:     core.ChildFailed,
}

// Find returns the record of an agent; a prefix of its id will do where only one has
// it.
func (a *Agents) Find(ctx context.Context, id string) (run record.Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err = record.Find(tx, id)
		return err
	})
	return run, err
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

// tell appends an event of an agent.
func (a *Agents) tell(tx project.Tx, run record.Run, kind string, data map[string]any) error {
	return record.Tell(tx, a.Project.Now(), run, kind, data)
}
