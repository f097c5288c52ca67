package plan

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/samber/lo"

	"flame/agents/definition"
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
func (pl Planner) Plan(ctx context.Context, by project.Caller, r Request) (Plan, error) {
	p, err := pl.Asked(ctx, by, r)
	if err != nil || p.Known {
		return p, err
	}
	err = pl.Project.Store.View(ctx, func(tx project.Tx) error {
		caller, err := callerOf(tx, by)
		if err != nil {
			return err
		}
		s, err := pl.situation(tx, p, caller, "")
		if err == nil {
			p.Agent, err = p.decide(s, pl.Bounds)
		}
		return err
	})
	return p, err
}

// Asked returns the plan of a request before anything is checked against the tree.
func (pl Planner) Asked(ctx context.Context, by project.Caller, r Request) (p Plan, err error) {
	if err := r.check(); err != nil {
		return p, err
	}
	p = Plan{by: by, request: r, catalog: sync.OnceValue(func() definition.Catalog { return pl.Catalog(pl.Dir) })}
	if p.Agent, err = pl.byKey(ctx, by, r.Key); err != nil || p.Agent.ID != "" {
		p.Known = true
		return p, err
	}
	if len(r.Inline) > 0 {
		p.Definition, err = definition.Inline(pl.Hosts, r.Inline)
	} else {
		p.Definition, err = p.catalog().Find(r.Type)
	}
	if err != nil {
		return p, err
	}
	return pl.drafted(p)
}

// drafted returns a plan with what its definition and its request say of the agent.
func (pl Planner) drafted(p Plan) (Plan, error) {
	host, err := pl.host(p.Definition, p.by.Host)
	if err != nil {
		return p, err
	}
	p.def = p.Definition.For(pl.Hosts, host.Name)
	p.chosen = p.def.Shipped() && p.def.Host == host.Name && pl.Host != host.Name
	p.Agent, err = pl.draft(p, host)
	return p, err
}

// draft returns the record of a plan before anything is checked against the tree.
func (pl Planner) draft(p Plan, host hosts.Host) (record.Run, error) {
	r := p.request
	def, told := pl.lessened(p.def)
	limits := pl.Bounds.Each
	if limits.Wall = cmp.Or(r.Timeout, def.Timeout, limits.Wall); r.Unlimited {
		limits.Wall = 0
	}
	limits.Tokens = cmp.Or(r.BudgetTokens, def.BudgetTokens, limits.Tokens)
	limits.CostUSD = cmp.Or(r.BudgetUSD, def.BudgetUSD, limits.CostUSD)
	if def.Retries != nil {
		limits.Retries = *def.Retries
	}
	cwd, err := pl.workIn(r.Cwd)
	if err != nil {
		return record.Run{}, err
	}
	run := record.Run{
		ID: pl.Project.NewID("agent"), Session: cmp.Or(r.session, host.On(pl.Machine).NewSession()), Host: host.Name, Type: def.Name,
		Description: core.OneLine(cmp.Or(r.Description, r.Prompt), 60), Prompt: core.Cut(r.Prompt, record.MaxPrompt),
		Limits: limits, Key: r.Key, Call: r.Call, Schema: def.ResultSchema, Cwd: cwd,
		State: core.AgentInitializing, Resumes: r.session != "",
		Source: def.Source, Digest: p.Definition.Digest(), Checkout: pl.Dir,
	}
	run.Background = lo.FromPtrOr(def.Background, true)
	if def.MaxChildren != nil {
		run.MaxChildren = *def.MaxChildren
	}
	run.Model, run.Warnings = definition.Model(host, cmp.Or(r.Model, def.Model))
	_, unheeded := def.HandedOn(host)
	run.Warnings = slices.Concat(told, run.Warnings, definition.UnknownTools(host, def.Tools), definition.UnknownTools(host, r.Tools), unheeded)
	if run.On, run.Retries, run.Uncommitted = r.On, r.Retries, r.Uncommitted; run.Elsewhere() {
		run.Session = "" // the worker's host has it
	} else if cmp.Or(r.Isolation, def.Isolation) == definition.Worktree {
		run.Worktree = filepath.Join(record.Folder(pl.Data, run.ID), "worktree")
	}
	return run, nil
}

// Continued returns the plan of an agent that goes on with what a host's own subagent of
// a type did: in its session, if one is given, and with the tools of that type. What is
// known of no such type only reads.
func (pl Planner) Continued(by project.Caller, host hosts.Host, agentType, session, goal string, r Request) (Plan, error) {
	r.session, r.Description = session, strings.TrimSuffix(core.OneLine(goal, 45), continued)+continued
	catalog := sync.OnceValue(func() definition.Catalog { return pl.Catalog(pl.Dir) })
	def := definition.Definition{Name: "continued", Host: host.Name, Source: definition.Source{Kind: definition.Call}}
	role, known := pl.roleOf(host, project.Standing{Agent: agentType}, catalog)
	if !known {
		def.PermissionMode = hosts.Plan
	}
	if role.Limited {
		def.Tools = &role.Allowed
	}
	def.DisallowedTools = role.Denied
	return pl.drafted(Plan{by: by, request: r, catalog: catalog, Definition: def})
}

// context says how much of its frame's context an agent is given: whether none, and
// how many characters at most. Goals come first in a context that is cut.
func (p Plan) context() (bare bool, most int) {
	switch p.def.Context {
	case "none":
		return true, 0
	case "goal":
		most = 1_500
	case "frame":
		most = 4_000
	}
	return p.request.Bare, most
}
