package agents

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// Spawn starts an agent for the caller and returns its record. It returns as soon
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
func (a *Agents) spawn(ctx context.Context, by project.Caller, def definition.Definition, r Request) (Run, error) {
	host, err := a.host(def, by.Host)
	if err != nil {
		return Run{}, err
	}
	digest := def.Digest() // as its file has it
	def = def.For(a.Hosts, host.Name)
	run, err := a.draft(ctx, def, digest, r, host)
	if err != nil {
		return Run{}, err
	}
	err = a.admit(ctx, by, def, r, &run)
	switch {
	case errors.Is(err, errKnown):
		return run, nil
	case err != nil:
		return Run{}, err
	}
	if err = a.isolate(ctx, &run); err == nil {
		err = a.launch(ctx, run)
	}
	if err != nil {
		return run, errors.Join(err, a.unstarted(ctx, run.ID, err))
	}
	return run, nil
}

// definition finds what the agent is.
func (a *Agents) definition(r Request) (definition.Definition, error) {
	if len(r.Inline) > 0 {
		return definition.Inline(a.Hosts, r.Inline)
	}
	return a.Catalog(a.Dir).Find(r.Type)
}

// draft is the record before anything is checked against the tree.
func (a *Agents) draft(ctx context.Context, def definition.Definition, digest string, r Request, host hosts.Host) (Run, error) {
	def, told := a.lessened(def)
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
		ID: a.Project.NewID("agent"), Session: cmp.Or(r.session, host.On(a.Machine).NewSession()), Host: host.Name, Type: def.Name,
		Description: core.OneLine(cmp.Or(r.Description, r.Prompt), 60), Prompt: core.Cut(r.Prompt, maxKept),
		Limits: limits, Key: r.Key, Call: r.Call, Schema: def.ResultSchema, Cwd: cwd, Base: baseOf(ctx, cwd),
		State: core.AgentInitializing, CreatedAt: a.Project.Now(), Resumes: r.session != "",
		Source: def.Source, Digest: digest, Checkout: a.Dir,
	}
	run.Background = lo.FromPtrOr(def.Background, true)
	if def.MaxChildren != nil {
		run.MaxChildren = *def.MaxChildren
	}
	run.Model, run.Warnings = modelFor(host, cmp.Or(r.Model, def.Model))
	_, unheeded := handedOn(host, def)
	run.Warnings = slices.Concat(told, run.Warnings, unknownTools(host, def.Tools), unknownTools(host, r.Tools), unheeded)
	if cmp.Or(r.Isolation, def.Isolation) == definition.Worktree {
		run.Worktree = filepath.Join(a.Folder(run.ID), "worktree")
	}
	return run, nil
}
