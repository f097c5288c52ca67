package agents

import (
	"context"

	"flame/agents/converge"
	"flame/agents/convergence"
	"flame/project"
)

// Converge makes one result of those of several agents. Agents that first_success
// leaves running are cancelled.
func (a *Agents) Converge(ctx context.Context, by project.Caller, ids []string, o converge.Options) (c convergence.Convergence, err error) {
	if c, err = a.Convergences().Make(ctx, by, ids, o); err != nil {
		return c, err
	}
	a.Notify.conflicts(c)
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

// Convergences returns those of the project.
func (a *Agents) Convergences() convergence.Convergences {
	return convergence.Convergences{Project: a.Project, Data: a.Data, Hosts: a.Hosts}
}
