package record

import (
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// IsBelow reports whether an agent was started by another, or by one below that.
func IsBelow(tx project.Tx, run Run, id string) (bool, error) {
	for seen := map[string]bool{}; run.ParentAgent != "" && !seen[run.ParentAgent]; {
		seen[run.ParentAgent] = true
		if run.ParentAgent == id {
			return true, nil
		}
		parent := run.ParentAgent
		run = Run{}
		if _, err := Runs.Load(tx, parent, &run); err != nil {
			return false, err
		}
	}
	return false, nil
}

// MayDirect refuses what an agent wants of others than those that it started. A user's
// session may stop any.
func MayDirect(tx project.Tx, by project.Caller, run Run) error {
	caller, err := AgentOf(tx, by, by.Session)
	if err != nil || caller.ID == "" {
		return err
	}
	started, err := IsBelow(tx, run, caller.ID)
	if err == nil && !started {
		err = core.Invalidf("%s was not started by %s", run.ID, caller.ID).WithHint("only the one that started an agent may stop it or hand over to it")
	}
	return err
}

// Below returns the agents that one started, at any depth, the newest first.
func Below(tx project.Tx, id string) (below []Run, err error) {
	top, err := Find(tx, id)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{top.ID: true}
	for parents := []string{top.ID}; len(parents) > 0; parents = parents[1:] {
		children, listed, err := childrenOf(tx, parents[0])
		if err != nil {
			return nil, err
		}
		if !listed {
			return belowOlder(tx, top.ID)
		}
		for _, id := range children {
			var run Run
			if known, err := Runs.Load(tx, id, &run); err != nil {
				return nil, err
			} else if known && !seen[id] {
				seen[id] = true
				below, parents = append(below, run), append(parents, id)
			}
		}
	}
	slices.SortFunc(below, NewestFirst)
	return below, nil
}

// childrenOf returns the ids of the agents that one started, and whether they are listed.
func childrenOf(tx project.Tx, id string) (children []string, listed bool, err error) {
	own := id + "/"
	entries, err := Children.IDs(tx, own)
	if err != nil || len(entries) == 0 || entries[0] != own {
		return nil, false, err
	}
	for _, entry := range entries[1:] {
		children = append(children, strings.TrimPrefix(entry, own))
	}
	return children, true, nil
}

// belowOlder is Below by what every record says of who started it.
func belowOlder(tx project.Tx, id string) ([]Run, error) {
	all, err := List(tx)
	below := map[string]bool{}
	for _, id := range family(all, id)[1:] {
		below[id] = true
	}
	return slices.DeleteFunc(all, func(run Run) bool { return !below[run.ID] }), err
}

// family returns an agent's id with those of all below it, each once, whatever the
// records say of who started whom.
func family(all []Run, id string) []string {
	started := map[string][]string{}
	for _, run := range all {
		started[run.ParentAgent] = append(started[run.ParentAgent], run.ID)
	}
	ids, seen := []string{id}, map[string]bool{id: true}
	for i := 0; i < len(ids); i++ {
		for _, child := range started[ids[i]] {
			if !seen[child] {
				seen[child] = true
				ids = append(ids, child)
			}
		}
	}
	return ids
}
