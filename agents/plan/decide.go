package plan

import (
	"cmp"
	"slices"

	"github.com/samber/lo"

	"flame/agents/permission"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// A situation is what one transaction tells of whoever asks for an agent.
type situation struct {
	asks   asker
	hosts  hosts.Registry
	root   string      // session at the root of the caller's, or frame, for a shell
	depth  int         // levels of agents, of hosts' own too, from there to the caller
	tree   record.Tree // what was spawned below that root
	grants []permission.Grant
	now    core.Millis
}

// situation reads what a plan depends on. frame is the agent's; empty before it is
// made.
func (pl Planner) situation(tx project.Tx, p Plan, caller core.Session, frame string) (s situation, err error) {
	s.now, s.hosts = pl.Project.Now(), pl.Hosts
	if s.asks, err = pl.askerOf(tx, p.by, caller, p.catalog); err != nil {
		return s, err
	}
	if s.root, s.depth, err = above(tx, caller); err != nil {
		return s, err
	}
	if p.by.Session == "" && p.by.Agent == "" { // a shell has no session of its own
		if s.root, err = record.RootFrame(tx, frame); err != nil {
			return s, err
		}
	}
	if _, err = record.Trees.Load(tx, cmp.Or(s.asks.agent.Tree, s.root), &s.tree); err != nil {
		return s, err
	}
	s.grants, err = permission.Grants(tx)
	return s, err
}

// decide returns the agent of a plan as it may be in a situation: its place in the
// tree, and its mode and tools, never more than its parent has. It refuses one that is
// beyond the tree's bounds.
func (p Plan) decide(s situation, b Bounds) (record.Run, error) {
	run, parent := p.Agent, s.asks.agent
	if parent.CancelledBy != "" && !parent.State.Ended() {
		return run, core.Invalidf("%s was told to stop, so it may start no others", parent.ID).WithHint("say what is done and end")
	}
	run.Tree, run.ParentAgent = cmp.Or(parent.Tree, s.root), parent.ID
	run.Depth = max(s.depth, parent.Depth) + 1
	run.MaxDepth = b.Depth
	if parent.ID != "" {
		run.MaxDepth = min(parent.MaxDepth, run.MaxDepth)
		run.Limits = within(run.Limits, parent)
	}
	if err := b.refuse(run, parent, s.tree); err != nil {
		return run, err
	}
	run.Mode = permission.Choose(permission.Question{
		Call: p.request.Mode, Definition: p.def.PermissionMode, Type: p.def.Type, Parent: s.asks.mode,
		Grant: permission.GrantFor(s.grants, p.def, p.Grant, run.Tree, run.Depth, s.now),
	})
	return p.permit(run, s), nil
}

// permit returns the agent with the tools that it may have.
func (p Plan) permit(run record.Run, s situation) record.Run {
	asks, def := s.asks, p.def
	run.Foreign = asks.host != run.Host
	if asks.host == project.CommandLine { // it lives in no host, so it is foreign only where it did not choose
		run.Foreign = p.chosen
	}
	if !asks.known {
		run.Warnings = append(slices.Clip(run.Warnings), "flame does not know what the agent that asks may do, so this one reads only")
	}
	asked := p.request.Tools
	if asked != nil {
		asked = lo.ToPtr(s.hosts.Spell(*asked, run.Host))
	}
	run.Tools = asks.agent.Tools.With(asks.agent.Passes).Within(asks.role).For(s.hosts, run.Host).
		Only(def.Tools).Only(asked).Without(def.DisallowedTools...)
	run.Trusted = def.Trusted(run.Tools)
	run.Passes = permission.Passes(s.grants, def, s.now)
	if def.MaxDepth != nil {
		run.MaxDepth = min(run.MaxDepth, run.Depth+*def.MaxDepth)
	}
	if def.MaxChildren != nil && *def.MaxChildren == 0 {
		run.MaxDepth = run.Depth
	}
	if run.Depth >= run.MaxDepth {
		run.Tools = run.Tools.Without(s.hosts.SpawnTools()...)
	}
	return run
}
