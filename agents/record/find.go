package record

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
	"flame/project"
)

// List returns all agents, those started last first.
func List(tx project.Tx) ([]Run, error) {
	runs, err := Runs.All(tx)
	slices.SortFunc(runs, NewestFirst)
	return runs, err
}

// NewestFirst compares agents by when they were started.
func NewestFirst(x, y Run) int {
	return cmp.Or(cmp.Compare(y.CreatedAt, x.CreatedAt), cmp.Compare(x.ID, y.ID))
}

// Filter returns those of the agents that run, or that have ended; all for another
// word.
func Filter(all []Run, which string) []Run {
	switch which {
	case "running":
		return slices.DeleteFunc(slices.Clone(all), func(run Run) bool { return run.State.Ended() })
	case "ended":
		return slices.DeleteFunc(slices.Clone(all), func(run Run) bool { return !run.State.Ended() })
	}
	return all
}

// AtWork returns the agents that are at work.
func AtWork(tx project.Tx) (runs []Run, err error) {
	ids, err := Living.IDs(tx, "")
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		var run Run
		if known, err := Runs.Load(tx, id, &run); err != nil {
			return nil, err
		} else if known && !run.State.Ended() {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// JustEnded returns the agents that ended at most so long before now, up to a day.
func JustEnded(tx project.Tx, now, within core.Millis) (runs []Run, err error) {
	ids, err := justEnded(tx, now, within)
	for _, id := range ids {
		var run Run
		if known, err := Runs.Load(tx, id, &run); err != nil {
			return nil, err
		} else if known && run.State.Ended() {
			runs = append(runs, run)
		}
	}
	return runs, err
}

// ByKey returns the agent that a session started under an idempotency key; zero
// without one.
func ByKey(tx project.Tx, session, key string) (run Run, err error) {
	var id string
	if known, err := Keys.Load(tx, keyOf(session, key), &id); !known || err != nil {
		return run, err
	}
	_, err = Runs.Load(tx, id, &run)
	return run, err
}

func keyOf(session, key string) string { return session + "/" + key }

// Find returns the record of an agent; a prefix of its id will do where only one has
// it.
func Find(tx project.Tx, id string) (run Run, err error) {
	id = strings.TrimSpace(id)
	if known, err := Runs.Load(tx, id, &run); known || err != nil {
		return run, err
	}
	var like []string
	for _, prefix := range []string{id, "agent-" + id} {
		if ids, err := Runs.IDs(tx, prefix); err != nil {
			return run, err
		} else if id != "" {
			like = lo.Union(like, ids)
		}
	}
	switch len(like) {
	case 1:
		_, err = Runs.Load(tx, like[0], &run)
		return run, err
	case 0:
		return run, core.NotFoundf("there is no agent %q", id).WithHint("%s shows those there are", op.AgentList)
	}
	return run, core.Invalidf("%q could be %s", id, core.List(like)).WithHint("give the whole id")
}

// AgentOf returns the agent that a caller is; zero for a user's own session.
func AgentOf(tx project.Tx, by project.Caller, session string) (run Run, err error) {
	id := by.Agent // what the process says goes before the call: a model can write that
	if id == "" {
		if _, err = Sessions.Load(tx, session, &id); err != nil || id == "" {
			return run, err
		}
	}
	_, err = Runs.Load(tx, id, &run)
	return run, err
}

// AssignmentOf returns what an agent was told.
func AssignmentOf(ctx context.Context, s project.Store, id string) (told Assignment, err error) {
	err = s.View(ctx, func(tx project.Tx) error {
		known, err := Assignments.Load(tx, id, &told)
		if err == nil && !known {
			err = core.NotFoundf("what %s was told is not known any more", id).WithHint("start another agent with %s", op.Spawn)
		}
		return err
	})
	return told, err
}

// RootFrame returns the root of a frame's tree.
func RootFrame(tx project.Tx, frame string) (string, error) {
	above, err := tx.Ancestors(frame, 0)
	if err != nil || len(above) == 0 {
		return frame, err
	}
	return above[len(above)-1].ID, nil
}
