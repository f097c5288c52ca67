package plan

import (
	"flame/agents/definition"
	"flame/agents/record"
	"flame/core"
	"flame/core/op"
)

// DefinitionOf returns the definition of an agent as it stands now, for the agent's
// host. Another that has taken its name is not it; nor is what it has become since,
// where a person granted the agent its mode.
func (pl Planner) DefinitionOf(run record.Run, told record.Assignment) (definition.Definition, error) {
	if told.Definition != nil {
		return told.Definition.For(pl.Hosts, run.Host), nil
	}
	if run.Source.Kind == definition.Call {
		def := definition.Definition{Name: run.Type, Source: run.Source}
		if len(told.Inline) > 0 {
			var err error
			if def, err = definition.Inline(pl.Hosts, told.Inline); err != nil {
				return def, err
			}
		}
		return def.For(pl.Hosts, run.Host), nil
	}
	def, err := pl.Catalog(run.Checkout).Find(run.Type)
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
	return def.For(pl.Hosts, run.Host), nil
}
