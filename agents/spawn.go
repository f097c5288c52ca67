package agents

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"flame/core"
	"flame/project"
)

// Spawn starts an agent for the caller and gives its record. It returns as soon

// as its supervisor runs; nothing of it runs where there is an error.

func (a *Agents) Spawn(ctx context.Context, by project.Caller, r Request) (Run, error) {
	if err := r.check(); err != nil {
		return Run{}, err
	}
	if known, err := a.byKey(ctx, by.Session, r.Key); err != nil || known.ID != "" {
		return known, err
	}
	def, err := a.definition(r)
	if err != nil {
		return Run{}, err
	}
	return a.spawn(ctx, by, def, r)
}

// spawn is Spawn for a definition that was found.

func (a *Agents) spawn(ctx context.Context, by project.Caller, def Definition, r Request) (Run, error) {
	host, err := a.host(def, by.Host)
	if err != nil {
		return Run{}, err
	}
	def = def.For(host.Name())
	run, err := a.draft(def, r, host)
	if err != nil {
		return Run{}, err
	}
	context, err := a.admit(ctx, by, def, r, &run)
	switch {
	case errors.Is(err, errKnown):
		return run, nil
	case err != nil:
		return Run{}, err
	}
	if err := a.launch(ctx, host, def, context, &run); err != nil {
		return run, errors.Join(err, a.unstarted(ctx, run.ID, err))
	}
	return run, nil
}

// definition finds what the agent is.

func (a *Agents) definition(r Request) (Definition, error) {
	if len(r.Inline) > 0 {
		return Inline(r.Inline)
	}
	return a.Catalog().Find(r.Type)
}

// draft is the record before anything is checked against the tree.

func (a *Agents) draft(def Definition, r Request, host Host) (Run, error) {
	limits := a.Bounds.Each
	limits.Wall = cmp.Or(r.Timeout, def.Timeout, limits.Wall)
	limits.Tokens = cmp.Or(r.BudgetTokens, def.BudgetTokens, limits.Tokens)
	limits.CostUSD = cmp.Or(r.BudgetUSD, def.BudgetUSD, limits.CostUSD)
	if def.Retries != nil {
		limits.Retries = *def.Retries
	}
	cwd, err := a.workIn(r.Cwd)
	if err != nil {
		return Run{}, err
	}
	run := Run{
		ID: a.Project.NewID("agent"), Session: cmp.Or(r.session, host.NewSession()), Host: host.Name(), Type: def.Name,
		Description: core.OneLine(cmp.Or(r.Description, r.Prompt), 60), Prompt: cut(r.Prompt, maxKept),
		Limits: limits, Key: r.Key, Schema: def.ResultSchema, Cwd: cwd, Base: baseOf(cwd),
		State: core.AgentInitializing, CreatedAt: a.Project.Now(), task: r.Prompt, resumes: r.session != "",
	}
	if def.MaxChildren != nil {
		run.MaxChildren = *def.MaxChildren
	}
	run.Model, run.Warnings = modelFor(host.Name(), cmp.Or(r.Model, def.Model))
	_, unheeded := handedOn(host, def)
	run.Warnings = slices.Concat(run.Warnings, unknownTools(host.Name(), def), unheeded)
	if cmp.Or(r.Isolation, def.Isolation) == "worktree" {
		run.Worktree = filepath.Join(a.Folder(run.ID), "worktree")
	}
	return run, nil
}

// workIn gives the folder that an agent works in: the project's, or one inside of

// it. Settings of other folders could allow more than the project's do.

// settingsFiles are by which hosts let folders have settings of their own.

// modelFor gives a model as a host takes it. A definition that was written for

// another host names none of this one's.

// unknownTools warns of tools that a host is not known to have.

// running are keys that have a host run commands. Whoever may edit a project's

// files, or write a definition into a call, may not run commands by that.

// handedOn gives the keys of a definition that its host gets, and warns of the

// others.

// admit makes the agent's frame and record in one transaction, where the tree's

// bounds let it in. It gives the context of the frame.

// contextOf says how much of its frame's context an agent is given: whether none,

// and how many characters at most. Goals come first in a context that is cut.

// place says where in the tree of agents a new one stands, and refuses one that is

// beyond the tree's bounds.

// above gives the session at the root of the caller's, and how many levels of

// agents, of hosts' own too, lie between.

// bound refuses an agent beyond the tree's bounds, or beyond its parent's own.

// grant gives the agent its mode and tools, never more than its parent has.

// trusted gives the tools of a definition that came with flame or lies in the

// user's home, as far as the set has them. Others limit an agent and allow nothing:

// whoever writes them may be a model.

// mode chooses the mode of an agent.

// Foresee gives the mode that an agent would get, what it is, and the session at

// the root of its tree, so that a person can be asked before it is started.

// parentMode is the mode of the session that asks: that of an agent as it was

// given, of a user's as its host's hook told it last.

// enrol writes a new agent's record, and the events that tell of it before

// anything runs.

// errKnown ends a spawn whose idempotency key has its agent.

var errKnown = errors.New("the agent is there")

// byKey gives the agent that a session started under an idempotency key; zero

// without one. It spares a repeated call what a new agent must pass; what two calls

// at one time must not both pass is in admit.

// knownTool reports whether a host is known to have a tool; patterns and tools of

// MCP servers are for the host to tell.

// hostTools are the built-in tools of each host, as they offered them when they

// were tried.
