package agents

import (
	"fmt"

	"flame/agents/record"
	"flame/agents/supervise"
	"flame/config/env"
	"flame/core"
	"flame/project"
)

// orders returns the order that ends an agent from outside.
func (j journal) orders(tx project.Tx, run record.Agent) (supervise.Directive, error) {
	cancel := func(format string, args ...any) (supervise.Directive, error) {
		return supervise.Directive{Stop: core.AgentCancelled, Reason: fmt.Sprintf(format, args...)}, nil
	}
	if run.State.Ended() {
		return cancel("it was %s already", run.State)
	}
	if run.CancelledBy != "" {
		return cancel("cancelled by %s", run.CancelledBy)
	}
	if run.Requester != "" {
		live, err := record.ActiveAgents.Find(tx, run.ID)
		if live.Worker.PID != 0 && live.Worker.IsVisible() && !live.Worker.Alive() {
			return cancel("the worker that ran it is gone")
		}
		return supervise.Directive{}, err
	}
	switch ended, err := j.parentEnded(tx, run); {
	case err != nil:
		return supervise.Directive{}, err
	case ended && !j.a.KeepAfterSession:
		return cancel("the session that asked for it ended; " + env.AgentOnSessionEnd + "=keep lets agents continue")
	}
	orders, err := record.HandoffOrders(tx, j.a.Project.Now(), run.ID)
	if orders.Stop != "" || err != nil {
		return orders, err
	}
	t, err := record.Trees.Find(tx, run.Tree)
	if err != nil {
		return orders, err
	}
	if j.a.Bounds.UsedUp(t) != nil {
		orders = supervise.Directive{Stop: core.AgentError, Reason: supervise.TreeBudget}
	}
	return orders, nil
}

// grace is how long, in ms, a session may be over before its agents are: some resume it at once in another
// window.
const grace = core.Millis(3000)

// parentEnded reports whether the session that asked for an agent has ended, and was not resumed soon.
func (j journal) parentEnded(tx project.Tx, run record.Agent) (bool, error) {
	parent, err := tx.Session(run.ParentSession)
	if err != nil || parent.State != core.SessionEnded {
		return false, project.IgnoreMissing(err)
	}
	presence, err := project.RecordHookState.Find(tx, parent.ID)
	return j.a.Project.Now()-presence.EndedAt > grace, err
}
