package agents

import (
	"context"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/core"
	"flame/core/op"
	"flame/project"
)

// assignmentOf returns what an agent was told.
func (a *Agents) assignmentOf(ctx context.Context, id string) (told record.Assignment, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		known, err := record.Assignments.Load(tx, id, &told)
		if err == nil && !known {
			err = core.NotFoundf("what %s was told is not known any more", id).WithHint("start another agent with %s", op.Spawn)
		}
		return err
	})
	return told, err
}

// definitionOf returns the definition of an agent as it stands now, for the agent's
// host. Another that has taken its name is not it; nor is what it has become since,
// where a person granted the agent its mode.
func (a *Agents) definitionOf(run record.Run, told record.Assignment) (definition.Definition, error) {
	if run.Source.Kind == definition.Call {
		def := definition.Definition{Name: run.Type, Source: run.Source}
		if len(told.Inline) > 0 {
			var err error
			if def, err = definition.Inline(a.Hosts, told.Inline); err != nil {
				return def, err
			}
		}
		return def.For(a.Hosts, run.Host), nil
	}
	def, err := a.Catalog(run.Checkout).Find(run.Type)
	switch {
	case err != nil:
		return def, err
	case def.Source != run.Source:
		return def, core.Invalidf("%s began as %s, whose place %s has taken", run.ID, run.Source, def.Source).
			WithHint("start another agent with %s", op.Spawn)
	case run.Mode.Grant != "" && def.Digest() != run.Digest:
		return def, core.Invalidf("the definition %s of %s has changed since it was granted the mode %s", def.Source, run.ID, run.Mode.Effective).
			WithHint("grant it again, and start another agent")
	}
	return def.For(a.Hosts, run.Host), nil
}
