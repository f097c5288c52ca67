package agents

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"flame/agents/definition"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// grant returns the agent its mode and tools, never more than its parent has.
func (a *Agents) grant(tx project.Tx, by project.Caller, def definition.Definition, r Request, caller core.Session, run *Run) error {
	asks, err := a.askerOf(tx, by, caller)
	if err != nil {
		return err
	}
	if run.Mode, err = a.mode(tx, def, r, asks, *run); err != nil {
		return err
	}
	run.Foreign = a.isForeign(def, run.Host, asks.host)
	if !asks.known {
		run.Warnings = append(run.Warnings, "flame does not know what the agent that asks may do, so this one reads only")
	}
	run.Tools = asks.agent.Tools.With(asks.agent.Passes).Within(asks.role).For(a.Hosts, run.Host).
		Only(def.Tools).Only(spelled(r.Tools, a.Hosts, run.Host)).Without(def.DisallowedTools...)
	run.Trusted = trusted(def, run.Tools)
	if run.Passes, err = passes(tx, def, a.Project.Now()); err != nil {
		return err
	}
	if def.MaxDepth != nil {
		run.MaxDepth = min(run.MaxDepth, run.Depth+*def.MaxDepth)
	}
	if def.MaxChildren != nil && *def.MaxChildren == 0 {
		run.MaxDepth = run.Depth
	}
	if run.Depth >= run.MaxDepth {
		run.Tools = run.Tools.Without(a.Hosts.SpawnTools()...)
	}
	return nil
}

// spelled returns tools that a call asks for by the names that a host has for them, in
// the host's own spelling: Claude Code offers no tool that is asked for in another
// (ran).
func spelled(tools *[]string, known hosts.Registry, host string) *[]string {
	if tools == nil {
		return nil
	}
	names := known.Translate(*tools, host)
	for i, entry := range names {
		name, rule := hosts.SplitRule(entry)
		for _, own := range known.Of(host).Tools {
			if strings.EqualFold(own.Name, name) {
				names[i] = own.Name + rule
			}
		}
	}
	return &names
}

// trusted returns the tools of a definition that came with flame or lies in the
// user's home, as far as the set has them. Others limit an agent and allow nothing:
// whoever writes them may be a model.
func trusted(def definition.Definition, set hosts.ToolSet) []string {
	if def.Tools == nil || def.Source.Kind != definition.Builtin && def.Source.Kind != definition.User {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(*def.Tools), func(tool string) bool { return !slices.Contains(set.Allowed, tool) })
}

// mode chooses the mode of an agent.
func (a *Agents) mode(tx project.Tx, def definition.Definition, r Request, asks asker, run Run) (ModeChoice, error) {
	q := ModeQuestion{Call: r.Mode, Definition: def.PermissionMode, Type: def.Type, Parent: asks.mode}
	var err error
	q.Grant, err = grantFor(tx, run, def, r.Grant, a.Project.Now())
	return ChooseMode(q), err
}

// Foresee returns the mode that an agent would get, what it is, and the session at
// the root of its tree, so that a person can be asked before it is started.
func (a *Agents) Foresee(ctx context.Context, by project.Caller, r Request) (choice ModeChoice, def definition.Definition, tree string, err error) {
	if err := r.check(); err != nil {
		return choice, def, "", err
	}
	if def, err = a.definition(r); err != nil {
		return choice, def, "", err
	}
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		caller, err := tx.Session(by.Session)
		if errors.Is(err, core.ErrNotFound) {
			caller, err = core.Session{ID: by.Session, Parent: by.Parent}, nil
		}
		if err != nil {
			return err
		}
		asks, err := a.askerOf(tx, by, caller)
		if err != nil {
			return err
		}
		root, depth, err := above(tx, caller)
		if err != nil {
			return err
		}
		tree = cmp.Or(asks.agent.Tree, root)
		choice, err = a.mode(tx, def, r, asks, Run{Tree: tree, Depth: max(depth, asks.agent.Depth) + 1})
		return err
	})
	return choice, def, tree, err
}

// An asker is what bounds an agent on the side of whoever asks for it.
type asker struct {
	agent Run           // that it is; zero for a user's own session
	host  string        // that it lives in
	role  hosts.ToolSet // of the host's own agent that it is: one that a user chose for the session, or a native subagent
	known bool          // role says all; else nobody can tell what it may do
	mode  hosts.Mode    // that it works in; empty where nobody told
}

// askerOf returns what bounds the agents of a session. One that works as an agent of the
// host's own that flame does not know reads only.
func (a *Agents) askerOf(tx project.Tx, by project.Caller, caller core.Session) (asks asker, err error) {
	if asks.agent, err = agentOf(tx, by, caller.ID); err != nil {
		return asks, err
	}
	asks.host, asks.mode, asks.known = cmp.Or(asks.agent.Host, caller.Host), asks.agent.Mode.Effective, true
	if asks.agent.ID != "" && asks.agent.Session == caller.ID {
		return asks, nil // what limits it is in its record
	}
	told, err := project.StandingOf(tx, caller.ID)
	if err != nil {
		return asks, err
	}
	if asks.role, asks.known = a.roleOf(asks.host, told); !asks.known {
		asks.mode = hosts.Plan
		return asks, nil
	}
	if asks.agent.ID != "" {
		return asks, nil
	}
	if told.Mode == "" && caller.Parent != "" {
		told, err = project.StandingOf(tx, caller.Parent)
	}
	asks.mode = hosts.Mode(told.Mode)
	return asks, err
}

// roleOf returns the tools that an agent of a host's own is left, and whether that is
// known.
func (a *Agents) roleOf(host string, told project.Standing) (role hosts.ToolSet, known bool) {
	denied, builtIn := a.Hosts.Of(host).Agents[told.Agent]
	switch {
	case told.Rules != "":
		role, known = definition.Permitted(a.Hosts, told.Rules).ToolSet(), true
	case told.Agent == "" || builtIn:
		known = true
	default:
		role, known = a.Catalog(a.Dir).Role(told.Agent)
	}
	return role.Without(denied...), known
}
