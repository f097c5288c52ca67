// Package plan says what an agent that is asked for would be, what it may do and within
// which bounds, and lets it in. It starts nothing.
package plan

import (
	"flame/agents/definition"
	"flame/hosts"
	"flame/project"
)

// A Planner says what agents that are asked for would be, and lets them in.
type Planner struct {
	Project *project.Project
	Data    string                                   // the project's data folder
	Dir     string                                   // where agents work that name no folder
	Hosts   hosts.Registry                           // in order of preference, for callers that live in none of them
	Machine hosts.Machine                            // that the hosts are on
	Host    string                                   // that agents run in, whatever the caller's; empty: the caller's
	Catalog func(checkout string) definition.Catalog // the definitions there are now, for work in a checkout of the project
	Bounds  Bounds
}
