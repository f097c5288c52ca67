// Package plan turns the request for an agent into a plan, with its mode, tools, grants and
// bounds, and admits the agent. It starts no agent.
package plan

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// A Planner plans and admits the agents that callers ask for.
type Planner Setup

// A Setup is what the agents of a project share.
type Setup struct {
	Project *project.Project
	Data    string                                   // the project's data folder; the folder of an agent is agents/<subagent_id> in it
	Dir     string                                   // working folder of agents whose request names none
	Hosts   hosts.Registry                           // in order of preference, for callers outside of any host
	Machine hosts.Machine                            // the machine of the hosts
	Host    string                                   // the host of all agents; empty: the host of the caller
	Catalog func(checkout string) definition.Catalog // returns the definitions for work in a checkout of the project
	Bounds  TreeLimits
}

// A Plan is a requested agent before its admission.
type Plan struct {
	Definition definition.Definition // from its file
	Agent      record.Agent          // its record, without its frame
	Known      bool                  // Agent exists already: an earlier call had the same key
	Grant      string                // id of a grant that a person made for this agent alone

	Planner // made the plan, with the definitions that it read

	by      project.Caller
	request Request
	def     definition.Definition // Definition with the tool names of the agent's host
	chosen  bool                  // a definition of the repository chose the host
}

// Plan returns the plan of an agent, so that a person can be asked before it starts. It
// refuses an agent that cannot start now.
func (pl Planner) Plan(ctx context.Context, by project.Caller, r Request) (Plan, error) {
	p, err := pl.Draft(ctx, by, r)
	if err != nil || p.Known {
		return p, err
	}
	err = pl.Project.View(ctx, by, func(s *project.Op) error {
		now, err := p.stateOf(s.Tx, s.Session, "")
		if err == nil {
			p.Agent, err = p.decide(now)
		}
		return err
	})
	return p, err
}

// Draft returns the plan of a request, without any check against the tree.
func (pl Planner) Draft(ctx context.Context, by project.Caller, r Request) (p Plan, err error) {
	if err := r.check(); err != nil {
		return p, err
	}
	p = Plan{Planner: pl, by: by, request: r}
	if r.Key != "" { // a repeated call need not pass what a new agent must; see Admit for two calls at one time
		p.Agent, err = project.Read(ctx, pl.Project, func(tx project.Tx) (record.Agent, error) { return keyedBy(tx, by, r.Key) })
		if err != nil || p.Agent.ID != "" {
			p.Known = true
			return p, err
		}
	}
	if len(r.Inline) > 0 {
		p.Definition, err = definition.Inline(pl.Hosts, r.Inline)
	} else {
		p.Definition, err = pl.Catalog(pl.Dir).Find(r.Type)
	}
	if err != nil {
		return p, err
	}
	return p.drafted()
}

// drafted returns the plan with the agent that definition and request describe, without any
// check against the tree.
func (p Plan) drafted() (Plan, error) {
	host, err := p.host(p.Definition, p.by.Host)
	if err != nil {
		return p, err
	}
	p.def = p.Definition.TranslateFor(p.Hosts, host.Name)
	p.chosen = p.def.FromRepo() && p.def.Host == host.Name && p.Host != host.Name
	r := p.request
	def, told := p.lessened(p.def)
	limits := p.Bounds.Each
	if limits.Wall = cmp.Or(r.Timeout, def.Timeout, limits.Wall); r.Unlimited {
		limits.Wall = 0
	}
	limits.Tokens = cmp.Or(r.BudgetTokens, def.BudgetTokens, limits.Tokens)
	limits.CostUSD = cmp.Or(r.BudgetUSD, def.BudgetUSD, limits.CostUSD)
	if def.Retries != nil {
		limits.Retries = *def.Retries
	}
	cwd, err := p.workIn(r.Cwd)
	if err != nil {
		return p, err
	}
	run := record.Agent{
		ID: p.Project.NewID("agent"), Session: cmp.Or(r.session, host.SessionID()), Host: host.Name, Type: def.Name,
		Description: core.OneLine(cmp.Or(r.Description, r.Prompt), 60), Prompt: core.Cut(r.Prompt, record.MaxPrompt),
		Limits: limits, Key: r.Key, Call: r.Call, Schema: def.ResultSchema, Cwd: cwd,
		State: core.AgentInitializing, Resumes: r.session != "",
		Source: def.Source, Digest: p.Definition.Digest(), Checkout: p.Dir,
	}
	run.Background = lo.FromPtrOr(def.Background, true)
	if def.MaxChildren != nil {
		run.MaxChildren = *def.MaxChildren
	}
	run.Model, run.Warnings = definition.Model(host, cmp.Or(r.Model, def.Model))
	_, unheeded := def.PassedKeys(host)
	run.Warnings = slices.Concat(told, run.Warnings, definition.UnknownTools(host, def.Tools), definition.UnknownTools(host, r.Tools), unheeded)
	if run.Queue, run.Retries = r.On, r.Retries; run.IsRemote() {
		run.Session = "" // the worker's host has it
	} else if cmp.Or(r.Isolation, def.Isolation) == definition.Worktree {
		run.Worktree = filepath.Join(record.Folder(p.Data, run.ID), "worktree")
	}
	p.Agent = run
	return p, nil
}

// Continued returns the plan of an agent that continues the work of a host's own subagent:
// in its session, if one is given, and with the tools of its type. An agent of an unknown
// type only reads.
func (pl Planner) Continued(by project.Caller, host hosts.Host, agentType, session, goal string, r Request) (Plan, error) {
	r.session, r.Description = session, strings.TrimSuffix(core.OneLine(goal, 45), continued)+continued
	def := definition.Definition{Name: "continued", Host: host.Name, Source: definition.Source{Kind: definition.Call}}
	role, known := pl.roleOf(host, project.SessionPermissions{Agent: agentType})
	if !known {
		def.PermissionMode = hosts.ModePlan
	}
	if role.Limited {
		def.Tools = &role.Allowed
	}
	def.DisallowedTools = role.Denied
	return Plan{Planner: pl, by: by, request: r, Definition: def}.drafted()
}

// context reports whether the agent gets no context of its frame, and otherwise the length
// limit of the context in characters. A cut context has the goals first.
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

// A callerState is what one transaction reads about the caller of a request.
type callerState struct {
	asks   callerLimits
	root   string      // session at the root of the caller's tree; for a shell, the root frame
	depth  int         // levels of agents from there to the caller, including hosts' own subagents
	tree   record.Tree // the agents below that root
	grants []Grant
	now    core.Millis
}

// stateOf reads what a plan depends on. frame is the agent's frame; it is empty until the
// frame exists.
func (p Plan) stateOf(tx project.Tx, caller core.Session, frame string) (s callerState, err error) {
	s.now = p.Project.Now()
	if s.asks, err = p.limitsOf(tx, p.by, caller); err != nil {
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
	if s.tree, err = record.Trees.Find(tx, cmp.Or(s.asks.agent.Tree, s.root)); err != nil {
		return s, err
	}
	s.grants, err = ListGrants(tx, s.now)
	return s, err
}

// decide returns the agent of a plan from the caller's state: its place in the tree, its mode and
// its tools, never more than its parent has. It refuses an agent beyond the tree's bounds.
func (p Plan) decide(s callerState) (record.Agent, error) {
	run, parent := p.Agent, s.asks.agent
	if parent.CancelledBy != "" && !parent.State.Ended() {
		return run, core.Invalidf("%s has been told to stop, so it may start no other agents", parent.ID).WithHint("say what is done and end")
	}
	run.Tree, run.ParentAgent = cmp.Or(parent.Tree, s.root), parent.ID
	run.Depth = max(s.depth, parent.Depth) + 1
	run.MaxDepth = p.Bounds.Depth
	if parent.ID != "" {
		run.MaxDepth = min(parent.MaxDepth, run.MaxDepth)
		run.Limits = within(run.Limits, parent)
	}
	if err := p.Bounds.refuse(run, parent, s.tree); err != nil {
		return run, err
	}
	run.Mode = ChooseMode(ModeInput{
		Call: p.request.Mode, Definition: p.def.PermissionMode, Type: p.def.Type, Parent: s.asks.mode,
		Grant: grantFor(s.grants, p.def, p.Grant, run.Tree, run.Depth, s.now),
	})
	return p.permit(run, s), nil
}

func (p Plan) permit(run record.Agent, s callerState) record.Agent {
	asks, def := s.asks, p.def
	run.CrossHost = asks.host != run.Host
	if asks.host == project.CommandLine { // a shell has no host, so the agent is foreign only if a definition chose the host
		run.CrossHost = p.chosen
	}
	if !asks.known {
		run.Warnings = append(slices.Clip(run.Warnings), "flame does not know the permissions of the calling agent, so this agent only reads")
	}
	asked := p.request.Tools
	if asked != nil {
		asked = lo.ToPtr(p.Hosts.CanonicalSpelling(*asked, run.Host))
	}
	run.Tools = asks.agent.Tools.With(asks.agent.DelegateTools).Within(asks.role).For(p.Hosts, run.Host).
		Only(def.Tools).Only(asked).Without(def.DisallowedTools...)
	run.Commands = slices.DeleteFunc(def.Trusted(run.Tools), func(tool string) bool {
		_, rule := hosts.SplitRule(tool)
		return rule == ""
	})
	run.DelegateTools = passes(s.grants, def, s.now)
	if def.MaxDepth != nil {
		run.MaxDepth = min(run.MaxDepth, run.Depth+*def.MaxDepth)
	}
	if def.MaxChildren != nil && *def.MaxChildren == 0 {
		run.MaxDepth = run.Depth
	}
	if run.Depth >= run.MaxDepth {
		run.Tools = run.Tools.Without(p.Hosts.SpawnTools()...)
	}
	return run
}
