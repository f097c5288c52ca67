package agents

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// grant gives the agent its mode and tools, never more than its parent has.
func (a *Agents) grant(tx project.Tx, by project.Caller, def Definition, r Request, caller core.Session, run *Run) error {
	parent, err := agentOf(tx, by, caller.ID)
	if err != nil {
		return err
	}
	if run.Mode, err = a.mode(tx, def, r, caller, parent, *run); err != nil {
		return err
	}
	theirs := cmp.Or(parent.Host, caller.Host)
	run.Foreign = theirs != run.Host && theirs != project.CommandLine
	role, known, err := a.roleOf(tx, theirs, caller, parent)
	if err != nil {
		return err
	}
	if !known {
		run.Warnings = append(run.Warnings, "flame does not know what the agent that asks may do, so this one reads only")
	}
	run.Tools = parent.Tools.With(parent.Passes).Only(role.Tools).Without(role.DisallowedTools...).For(run.Host).
		Only(def.Tools).Only(spelled(r.Tools, run.Host)).Without(def.DisallowedTools...)
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
		run.Tools = run.Tools.Without(SpawnTools...)
	}
	return nil
}

// spelled gives tools that a call asks for by the names that a host has for them, in
// the host's own spelling: Claude Code offers no tool that is asked for in another
// (ran).
func spelled(tools *[]string, host string) *[]string {
	if tools == nil {
		return nil
	}
	names := translate(*tools, host)
	for i, entry := range names {
		name, rule := ruleOf(entry)
		for _, own := range traitsOf(host).tools {
			if strings.EqualFold(own.name, name) {
				names[i] = own.name + rule
			}
		}
	}
	return &names
}

// trusted gives the tools of a definition that came with flame or lies in the
// user's home, as far as the set has them. Others limit an agent and allow nothing:
// whoever writes them may be a model.
func trusted(def Definition, set ToolSet) []string {
	if def.Tools == nil || def.Source.Kind != Builtin && def.Source.Kind != User {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(*def.Tools), func(tool string) bool { return !slices.Contains(set.Allowed, tool) })
}

// mode chooses the mode of an agent.
func (a *Agents) mode(tx project.Tx, def Definition, r Request, caller core.Session, parent Run, run Run) (ModeChoice, error) {
	theirs, err := a.parentMode(tx, caller, parent)
	if err != nil {
		return ModeChoice{}, err
	}
	q := ModeQuestion{Call: r.Mode, Definition: def.PermissionMode, Type: def.Type, Parent: theirs}
	q.Grant, err = grantFor(tx, run, def, r.Grant, a.Project.Now())
	return ChooseMode(q), err
}

// Foresee gives the mode that an agent would get, what it is, and the session at
// the root of its tree, so that a person can be asked before it is started.
func (a *Agents) Foresee(ctx context.Context, by project.Caller, r Request) (choice ModeChoice, def Definition, tree string, err error) {
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
		parent, err := agentOf(tx, by, caller.ID)
		if err != nil {
			return err
		}
		root, depth, err := above(tx, caller)
		if err != nil {
			return err
		}
		tree = cmp.Or(parent.Tree, root)
		choice, err = a.mode(tx, def, r, caller, parent, Run{Tree: tree, Depth: max(depth, parent.Depth) + 1})
		return err
	})
	return choice, def, tree, err
}

// parentMode is the mode of the session that asks: that of an agent as it was
// given, of a user's as its host's hook told it last. An agent of the host's own that
// flame does not know reads only.
func (a *Agents) parentMode(tx project.Tx, caller core.Session, parent Run) (Mode, error) {
	if _, known, err := a.roleOf(tx, cmp.Or(parent.Host, caller.Host), caller, parent); err != nil || !known {
		return Plan, err
	}
	if parent.ID != "" {
		return parent.Mode.Effective, nil
	}
	told, err := project.StandingOf(tx, caller.ID)
	if err == nil && told.Mode == "" && caller.Parent != "" {
		told, err = project.StandingOf(tx, caller.Parent)
	}
	return Mode(told.Mode), err
}

// roleOf gives what limits the host's own agent that asks: the one that a user chose
// for the session, or a native subagent. What limits an agent of flame's own is in
// its record.
func (a *Agents) roleOf(tx project.Tx, host string, caller core.Session, parent Run) (role Definition, known bool, err error) {
	if parent.ID != "" && parent.Session == caller.ID {
		return Definition{}, true, nil
	}
	told, err := project.StandingOf(tx, caller.ID)
	if err != nil {
		return Definition{}, false, err
	}
	denied, builtIn := traitsOf(host).agents[told.Agent]
	switch {
	case told.Rules != "":
		role, known = permitted(told.Rules), true
	case told.Agent == "" || builtIn:
		known = true
	default:
		found, err := a.Catalog().Find(told.Agent)
		role, known = found, err == nil
	}
	role.DisallowedTools = slices.Concat(role.DisallowedTools, denied)
	return role, known, nil
}
