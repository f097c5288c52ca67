package agents

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/agents/permission"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// A Plan is an agent that was asked for, as far as can be told before it is let in.
type Plan struct {
	Definition definition.Definition // as it stands in its file
	Agent      record.Run            // what it would be, but for its frame
	Known      bool                  // Agent is there already: it was asked for under the same key
	Grant      string                // id of one that a person made for this agent alone

	by      project.Caller
	request Request
	def     definition.Definition     // Definition with tools by the names of the agent's host
	catalog func() definition.Catalog // read once
	chosen  bool                      // it was a definition of the repository that chose the host
}

// Plan returns what an agent would be, so that a person can be asked before it is
// started, and refuses one that cannot be as things stand.
func (a *Agents) Plan(ctx context.Context, by project.Caller, r Request) (Plan, error) {
	p, err := a.asked(ctx, by, r)
	if err != nil || p.Known {
		return p, err
	}
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		caller, err := callerOf(tx, by)
		if err != nil {
			return err
		}
		s, err := a.situation(tx, p, caller, "")
		if err == nil {
			p.Agent, err = p.decide(s, a.Bounds)
		}
		return err
	})
	return p, err
}

// asked returns the plan of a request before anything is checked against the tree.
func (a *Agents) asked(ctx context.Context, by project.Caller, r Request) (p Plan, err error) {
	if err := r.check(); err != nil {
		return p, err
	}
	p = Plan{by: by, request: r, catalog: sync.OnceValue(func() definition.Catalog { return a.Catalog(a.Dir) })}
	if p.Agent, err = a.byKey(ctx, by, r.Key); err != nil || p.Agent.ID != "" {
		p.Known = true
		return p, err
	}
	if len(r.Inline) > 0 {
		p.Definition, err = definition.Inline(a.Hosts, r.Inline)
	} else {
		p.Definition, err = p.catalog().Find(r.Type)
	}
	if err != nil {
		return p, err
	}
	return a.drafted(p)
}

// drafted returns a plan with what its definition and its request say of the agent.
func (a *Agents) drafted(p Plan) (Plan, error) {
	host, err := a.host(p.Definition, p.by.Host)
	if err != nil {
		return p, err
	}
	p.def = p.Definition.For(a.Hosts, host.Name)
	p.chosen = p.def.Shipped() && p.def.Host == host.Name && a.Host != host.Name
	p.Agent, err = a.draft(p, host)
	return p, err
}

// draft returns the record of a plan before anything is checked against the tree.
func (a *Agents) draft(p Plan, host hosts.Host) (record.Run, error) {
	r := p.request
	def, told := a.lessened(p.def)
	limits := a.Bounds.Each
	limits.Wall = cmp.Or(r.Timeout, def.Timeout, limits.Wall)
	limits.Tokens = cmp.Or(r.BudgetTokens, def.BudgetTokens, limits.Tokens)
	limits.CostUSD = cmp.Or(r.BudgetUSD, def.BudgetUSD, limits.CostUSD)
	if def.Retries != nil {
		limits.Retries = *def.Retries
	}
	cwd, err := a.workIn(r.Cwd)
	if err != nil {
		return record.Run{}, err
	}
	run := record.Run{
		ID: a.Project.NewID("agent"), Session: cmp.Or(r.session, host.On(a.Machine).NewSession()), Host: host.Name, Type: def.Name,
		Description: core.OneLine(cmp.Or(r.Description, r.Prompt), 60), Prompt: core.Cut(r.Prompt, record.MaxPrompt),
		Limits: limits, Key: r.Key, Call: r.Call, Schema: def.ResultSchema, Cwd: cwd,
		State: core.AgentInitializing, Resumes: r.session != "",
		Source: def.Source, Digest: p.Definition.Digest(), Checkout: a.Dir,
	}
	run.Background = lo.FromPtrOr(def.Background, true)
	if def.MaxChildren != nil {
		run.MaxChildren = *def.MaxChildren
	}
	run.Model, run.Warnings = definition.Model(host, cmp.Or(r.Model, def.Model))
	_, unheeded := def.HandedOn(host)
	run.Warnings = slices.Concat(told, run.Warnings, definition.UnknownTools(host, def.Tools), definition.UnknownTools(host, r.Tools), unheeded)
	if cmp.Or(r.Isolation, def.Isolation) == definition.Worktree {
		run.Worktree = filepath.Join(a.Folder(run.ID), "worktree")
	}
	return run, nil
}

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
func (a *Agents) situation(tx project.Tx, p Plan, caller core.Session, frame string) (s situation, err error) {
	s.now, s.hosts = a.Project.Now(), a.Hosts
	if s.asks, err = a.askerOf(tx, p.by, caller, p.catalog); err != nil {
		return s, err
	}
	if s.root, s.depth, err = above(tx, caller); err != nil {
		return s, err
	}
	if p.by.Session == "" && p.by.Agent == "" { // a shell has no session of its own
		if s.root, err = top(tx, frame); err != nil {
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
