package plan

import (
	"cmp"
	"errors"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// above returns the session at the root of the caller's, and how many levels of
// agents, of hosts' own too, lie between.
func above(tx project.Tx, caller core.Session) (root string, depth int, err error) {
	root = caller.ID
	for parent := caller.Parent; parent != "" && depth < 100; depth++ {
		session, err := tx.Session(parent)
		if errors.Is(err, core.ErrNotFound) {
			return parent, depth + 1, nil
		}
		if err != nil {
			return root, depth, err
		}
		root, parent = session.ID, session.Parent
	}
	return root, depth, nil
}

// callerOf returns the session that a call is of, as it is or will be.
func callerOf(tx project.Tx, by project.Caller) (core.Session, error) {
	id, err := project.SessionOf(tx, by)
	if err != nil {
		return core.Session{}, err
	}
	session, err := tx.Session(id)
	if errors.Is(err, core.ErrNotFound) {
		session, err = core.Session{ID: id, Parent: by.Parent}, nil
	}
	if by.Host != "" && (session.Host == "" || by.Host != project.CommandLine) {
		session.Host = by.Host
	}
	return session, err
}

// An asker is what bounds an agent on the side of whoever asks for it.
type asker struct {
	agent record.Run    // that it is; zero for a user's own session
	host  string        // that it lives in
	role  hosts.ToolSet // of the host's own agent that it is: one that a user chose for the session, or a native subagent
	known bool          // role says all; else nobody can tell what it may do
	mode  hosts.Mode    // that it works in; empty where nobody told
}

// askerOf returns what bounds the agents of a session. One that works as an agent of the
// host's own that flame does not know reads only.
func (pl Planner) askerOf(tx project.Tx, by project.Caller, caller core.Session, catalog func() definition.Catalog) (asks asker, err error) {
	if asks.agent, err = record.AgentOf(tx, by, caller.ID); err != nil {
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
	if asks.role, asks.known = pl.roleOf(pl.Hosts.Of(asks.host), told, catalog); !asks.known {
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
func (pl Planner) roleOf(host hosts.Host, told project.Standing, catalog func() definition.Catalog) (role hosts.ToolSet, known bool) {
	denied, builtIn := host.Agents[told.Agent]
	switch {
	case told.Rules != "":
		role, known = definition.Permitted(pl.Hosts, told.Rules).ToolSet(), true
	case told.Agent == "" || builtIn:
		known = true
	default:
		role, known = catalog().Role(told.Agent)
	}
	return role.Without(denied...), known
}
