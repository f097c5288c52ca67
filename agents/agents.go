// Package agents is what flame knows of the agents that it starts: their
// definitions, what each may do, the limits they live within, and the process
// that watches over one. How a host is started for an agent is in that host's
// package; what becomes of several agents' results is in converge, who started
// whom in graph, and what hosts' logs tell of that in trail.
package agents

import (
	"context"

	"flame/agents/supervise"
	"flame/hosts"
	"flame/project"
)

// Agents starts and follows the agents of one project.
type Agents struct {
	Project *project.Project
	Data    string                        // the project's data folder; an agent's own is agents/<subagent_id> in it
	Root    string                        // the project's folder, by which processes of flame find it that work for an agent
	Dir     string                        // where agents work that name no folder
	Program string                        // flame itself: it supervises, and is the MCP server of its agents
	Hosts   []hosts.Launcher              // in order of preference, for callers that live in none of them
	Host    string                        // that agents run in, whatever the caller's; empty: the caller's
	Catalog func(checkout string) Catalog // the definitions there are now, for work in a checkout of the project
	Bounds  Bounds
	Keep    bool // agents go on when the session that asked for them ends

	// Start starts the supervisor of an agent, as supervise.Start does.
	Start func(ctx context.Context, seat supervise.Seat) (supervise.Process, error)
}
