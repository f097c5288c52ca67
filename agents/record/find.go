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

// List returns all agents, the newest first.
func List(tx project.Tx) ([]Agent, error) {
	runs, err := Agents.All(tx)
	slices.SortFunc(runs, NewestFirst)
	return runs, err
}

// NewestFirst compares agents by their start, the latest first.
func NewestFirst(x, y Agent) int {
	return cmp.Or(cmp.Compare(y.CreatedAt, x.CreatedAt), cmp.Compare(x.ID, y.ID))
}

// newest returns the agent that began last; zero without one.
func newest(runs []Agent) (run Agent) {
	if len(runs) > 0 {
		run = slices.MinFunc(runs, NewestFirst)
	}
	return run
}

// Filter returns the running agents for "running", the ended ones for "ended", and all agents
// for any other word.
func Filter(all []Agent, which string) []Agent {
	if which != "running" && which != "ended" {
		return all
	}
	return lo.Filter(all, func(run Agent, _ int) bool { return run.State.Ended() == (which == "ended") })
}

// Running returns the agents that have not ended.
func Running(tx project.Tx) ([]Agent, error) {
	ids, err := ActiveAgents.IDs(tx, "")
	return those(tx, ids, err, func(run Agent) bool { return !run.State.Ended() })
}

// UnsettledAgents returns the agents that have not ended or whose end is not fully handled.
func UnsettledAgents(tx project.Tx) ([]Agent, error) {
	ids, err := ActiveAgents.IDs(tx, "")
	return those(tx, ids, err, func(Agent) bool { return true })
}

// JustEnded returns the agents that ended within a time before now, and those that ended as long
// after it by a clock that jumped back since.
func JustEnded(tx project.Tx, now, within core.Millis) ([]Agent, error) {
	_, runs, err := Agents.Where(tx, "ended_at", now-within+1, now+within-1)
	return runs, err
}

// those returns the wanted agents among the given ids; err is the error of finding the ids.
func those(tx project.Tx, ids []string, err error, wanted func(Agent) bool) (runs []Agent, _ error) {
	if err != nil {
		return nil, err
	}
	known, err := Agents.At(tx, ids)
	for _, id := range ids {
		if run, is := known[id]; is && wanted(run) {
			runs = append(runs, run)
		}
	}
	return runs, err
}

// ByKey returns the agent that a session started last under an idempotency key; zero if there is
// none.
func ByKey(tx project.Tx, session, key string) (run Agent, err error) {
	_, same, err := Agents.Where(tx, "key", key, key)
	return newest(lo.Filter(same, func(run Agent, _ int) bool { return run.ParentSession == session })), err
}

// Find returns the record of an agent by its id, or by a prefix that only one id has.
func Find(tx project.Tx, id string) (run Agent, err error) {
	id = strings.TrimSpace(id)
	run, known, err := Agents.Get(tx, id)
	if known || err != nil {
		return run, err
	}
	var like []string
	for _, prefix := range []string{id, "agent-" + id} {
		if ids, err := Agents.IDs(tx, prefix); err != nil {
			return run, err
		} else if id != "" {
			like = lo.Union(like, ids)
		}
	}
	switch len(like) {
	case 1:
		return Agents.Find(tx, like[0])
	case 0:
		return run, core.NotFoundf("there is no agent %q", id).WithHint("%s shows those there are", op.AgentList)
	}
	return run, core.Invalidf("%q could be %s", id, core.List(like)).WithHint("give the whole id")
}

// AgentOf returns the agent that makes a call; zero for a user's session.
func AgentOf(tx project.Tx, by project.Caller, session string) (run Agent, err error) {
	if by.Agent != "" { // the process takes precedence over the call, which a model can write
		return Agents.Find(tx, by.Agent)
	}
	if session == "" {
		return run, nil
	}
	_, runs, err := Agents.Where(tx, "session", session, session)
	return newest(runs), err
}

// AssignmentOf returns an agent's assignment.
func AssignmentOf(ctx context.Context, p *project.Project, id string) (Assignment, error) {
	return project.Read(ctx, p, func(tx project.Tx) (Assignment, error) {
		told, known, err := Assignments.Get(tx, id)
		if err == nil && !known {
			err = core.NotFoundf("the task of %s is gone", id).WithHint("start another agent with %s", op.Spawn)
		}
		return told, err
	})
}

// RootFrame returns the root of a frame's tree.
func RootFrame(tx project.Tx, frame string) (string, error) {
	above, err := tx.Ancestors(frame, 0)
	if err != nil || len(above) == 0 {
		return frame, err
	}
	return above[len(above)-1].ID, nil
}

// IsBelow reports whether an agent is below another, at any depth.
func IsBelow(tx project.Tx, run Agent, id string) (below bool, err error) {
	for seen := map[string]bool{}; run.ParentAgent != "" && !seen[run.ParentAgent] && err == nil; {
		if run.ParentAgent == id {
			return true, nil
		}
		seen[run.ParentAgent] = true
		run, err = Agents.Find(tx, run.ParentAgent)
	}
	return false, err
}

// CheckControl returns an error if an agent wants to direct an agent that it did not start. A
// user's session may direct all agents.
func CheckControl(tx project.Tx, by project.Caller, run Agent) error {
	caller, err := AgentOf(tx, by, by.Session)
	if err != nil || caller.ID == "" {
		return err
	}
	started, err := IsBelow(tx, run, caller.ID)
	if err == nil && !started {
		err = core.Invalidf("%s was not started by %s", run.ID, caller.ID).WithHint("only the agent that started another one may stop it or hand over to it")
	}
	return err
}

// AgentsBelow returns the agents below an agent, at any depth, the newest first.
func AgentsBelow(tx project.Tx, id string) (below []Agent, err error) {
	top, err := Find(tx, id)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{top.ID: true} // the records may contain a cycle
	for parents := []string{top.ID}; len(parents) > 0; parents = parents[1:] {
		_, children, err := Agents.Where(tx, "parent_agent", parents[0], parents[0])
		if err != nil {
			return nil, err
		}
		for _, run := range children {
			if !seen[run.ID] {
				seen[run.ID] = true
				below, parents = append(below, run), append(parents, run.ID)
			}
		}
	}
	slices.SortFunc(below, NewestFirst)
	return below, nil
}
