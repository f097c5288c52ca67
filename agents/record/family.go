package record

import (
	"slices"

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

// Below returns the agents that one started, at any depth, the newest first.
func Below(tx project.Tx, id string) ([]Run, error) {
	run, err := Find(tx, id)
	if err != nil {
		return nil, err
	}
	all, err := List(tx)
	below := map[string]bool{}
	for _, id := range family(all, run.ID)[1:] {
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
