package agents

import (
	"context"

	"flame/agents/result"
	"flame/project"
)

// Result returns what an agent came to.
func (a *Agents) Result(ctx context.Context, id string) (r result.Result, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		r, err = result.Of(tx, a.Data, id)
		return err
	})
	return r, err
}
