// Package agents is the life of the agents that flame starts: how they are started,
// followed and ended, and what becomes of their work. What an agent is stands in
// definition, what one may do in permission and plan, what is kept of it in record; how
// a host is started for one is in that host's package; the process that watches over
// one is in supervise, what becomes of several agents' results in converge, who started
// whom in graph, and what hosts' logs tell of that in trail.
package agents

import (
	"context"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/supervise"
	"flame/hosts"
	"flame/project"
)

// Agents starts and follows the agents of one project.
type Agents struct {
	Project *project.Project
	Data    string                                   // the project's data folder; an agent's own is agents/<subagent_id> in it
	Root    string                                   // the project's folder, by which processes of flame find it that work for an agent
	Dir     string                                   // where agents work that name no folder
	Program string                                   // flame itself: it supervises, and is the MCP server of its agents
	Hosts   hosts.Registry                           // in order of preference, for callers that live in none of them
	Machine hosts.Machine                            // that the hosts are on
	Host    string                                   // that agents run in, whatever the caller's; empty: the caller's
	Catalog func(checkout string) definition.Catalog // the definitions there are now, for work in a checkout of the project
	Bounds  plan.Bounds
	Keep    bool // agents go on when the session that asked for them ends

	Notify Notifier // of the end of agents, of limits and of conflicts
	// Notified waits until what Notify began is over; nil: there is nothing to wait for.
	Notified func()

	OpenGate OpenGate // nil: agents have no gateways

	Elsewhere Elsewhere // nil: agents run on this machine alone
	Share     []string  // of abroad.Kinds: what other machines may see of agents that have ended

	// Start starts the supervisor of an agent, as supervise.Start does.
	Start func(ctx context.Context, seat supervise.Seat) (supervise.Process, error)
}

// Plan returns what an agent would be, so that a person can be asked before it is
// started, and refuses one that cannot be as things stand.
func (a *Agents) Plan(ctx context.Context, by project.Caller, r plan.Request) (plan.Plan, error) {
	return a.planner().Plan(ctx, by, r)
}

func (a *Agents) planner() plan.Planner {
	return plan.Planner{
		Project: a.Project, Data: a.Data, Dir: a.Dir, Hosts: a.Hosts, Machine: a.Machine, Host: a.Host, Catalog: a.Catalog, Bounds: a.Bounds,
	}
}
