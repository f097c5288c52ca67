package agents

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/samber/lo"

	"flame/agents/changes"
	"flame/agents/converge"
	"flame/agents/graph"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/usage"
	"flame/project/view"
)

// maxLabel is the length to which flame cuts a frame's goal for the label of its session, in
// characters.
const maxLabel = 80

// maxNative is how many of the hosts' own subagents a graph has; those with the latest
// activity come first.
const maxNative = 500

// Graph returns the graph of agents and of hosts' own subagents. Its nodes
// are sessions, agents and convergences. Its edges are starts, handoffs, continued work, and
// results that went into a convergence.
func (a *Agents) Graph(ctx context.Context) (*graph.Graph, error) {
	return project.Read(ctx, a.Project, func(tx project.Tx) (*graph.Graph, error) {
		runs, err := record.List(tx)
		if err != nil {
			return nil, err
		}
		slices.Reverse(runs) // the oldest first: parents before children
		nodes, err := natives(tx, runs)
		if err != nil {
			return nil, err
		}
		asked := slices.Clone(nodes) // by sessions
		var links []graph.Edge
		for _, run := range runs {
			parent := cmp.Or(run.ParentAgent, run.ParentSession)
			n := graph.Node{
				ID: run.ID, Kind: graph.KindSubagent, Parent: parent, Label: run.Description, Status: string(run.State),
				AgentType: run.Type, Model: run.Model, Frame: run.Frame, Usage: run.Progress.Used(), Started: run.CreatedAt, Ended: run.EndedAt,
			}
			nodes = append(nodes, n)
			if run.ParentAgent == "" {
				asked = append(asked, n)
			}
			if run.ResumedFrom != "" {
				links = append(links, graph.Edge{From: run.ID, To: run.ResumedFrom, Kind: graph.ResumedFrom})
			}
			_, known, err := record.Handoffs.Get(tx, run.ID)
			if err != nil {
				return nil, err
			}
			if known {
				links = append(links, graph.Edge{From: parent, To: run.ID, Kind: graph.Handoff})
			}
		}
		sessions, err := callers(tx, asked, nodes)
		if err != nil {
			return nil, err
		}
		all, err := converge.RecordConvergences.All(tx)
		for _, c := range all {
			status := "complete"
			if c.Result.Unresolved > 0 {
				status = "waits for review"
			}
			nodes = append(nodes, graph.Node{
				ID: c.ID, Kind: graph.KindConvergence, Label: string(c.Options.Strategy), Status: status, Started: c.CreatedAt, Ended: c.UpdatedAt,
			})
			for _, input := range c.Result.Inputs {
				links = append(links, graph.Edge{From: input, To: c.ID, Kind: graph.ConvergedInto})
			}
		}
		if err != nil {
			return nil, err
		}
		return graph.New(append(sessions, nodes...), links), nil
	})
}

// natives returns hosts' own subagents. It includes subagents of which flame knows only the
// task. A subagent that one of flame's agents started is below that agent.
func natives(tx project.Tx, runs []record.Agent) (nodes []graph.Node, err error) {
	agents := lo.SliceToMap(runs, func(run record.Agent) (session, id string) { return run.Session, run.ID })
	sessions, err := tx.FindSessions(project.SessionQuery{Children: true, Limit: maxNative})
	asked, askedErr := children.RequestedChildren(tx)
	known := map[string]bool{}
	add := func(id, parent, title, frame, status string, started core.Millis) {
		if known[id] || id == "" || parent == "" || agents[id] != "" {
			return
		}
		known[id] = true
		n := graph.Node{
			ID: id, Kind: graph.KindSubagent, Parent: cmp.Or(agents[parent], parent), Label: core.SubagentGoal(title), AgentType: core.SubagentType(title),
			Frame: frame, Status: status, Started: started,
		}
		if frame, err := tx.Frame(frame); err == nil {
			n.Status, n.Usage, n.Started, n.Ended = string(frame.Status), frame.Usage, cmp.Or(n.Started, frame.CreatedAt), frame.EndedAt
		}
		nodes = append(nodes, n)
	}
	for _, s := range slices.Backward(sessions) {
		add(s.ID, s.Parent, s.Title, s.Root, string(s.State), s.CreatedAt)
	}
	for _, a := range asked {
		add(cmp.Or(a.Child, a.Frame), a.Parent, a.Title, a.Frame, "", 0)
	}
	return nodes, errors.Join(err, askedErr)
}

// callers returns the sessions that started agents and are not among the known nodes.
func callers(tx project.Tx, asked, nodes []graph.Node) (sessions []graph.Node, err error) {
	known := lo.SliceToMap(nodes, func(n graph.Node) (string, bool) { return n.ID, true })
	for _, child := range asked {
		if known[child.Parent] {
			continue
		}
		known[child.Parent] = true
		n := graph.Node{ID: child.Parent, Kind: graph.KindSession, Started: child.Started}
		session, err := tx.Session(child.Parent)
		if err := project.IgnoreMissing(err); err != nil {
			return nil, err
		}
		if session.ID != "" {
			n.Label, n.Status, n.Frame, n.Started = session.Title, string(session.State), session.Root, session.CreatedAt
			if frame, err := tx.Frame(session.Root); err == nil && n.Label == "" {
				n.Label = core.OneLine(frame.Goal, maxLabel)
			}
		}
		sessions = append(sessions, n)
	}
	return sessions, nil
}

// Stats are the numbers of a project and of the agents in it.
type Stats struct {
	view.Stats
	Subagents core.SubagentStats `json:"subagents"` // started by hosts
	Agents    record.Totals      `json:"agents"`    // started by flame; their usage is part of the project's
}

// Stats returns the numbers of the project and of its agents.
func (a *Agents) Stats(ctx context.Context) (stats Stats, err error) {
	if stats.Stats, err = view.StatsOf(ctx, a.Project); err != nil {
		return stats, err
	}
	tracked, err := children.Sessions(ctx, a.Project, project.Caller{})
	if err != nil {
		return stats, err
	}
	stats.Subagents = tracked.Stats
	runs, err := a.AgentsBelow(ctx, "")
	stats.Agents = record.SumOf(runs)
	return stats, err
}

const (
	maxPatchFile = 1 << 20 // bytes that flame reads of an agent's patch
	maxCalls     = 100     // calls that flame processes at once
)

// FilesOf returns the changed files of the caller's frame, or of the frame that ref names,
// without its children. For an ended agent with its own worktree, here or on another machine,
// they come from git, so they include changes of any kind.
func FilesOf(ctx context.Context, a *Agents, by project.Caller, ref string) (l usage.FileList, err error) {
	var run record.Agent
	err = a.Project.View(ctx, by, func(s *project.Op) error {
		frame, err := s.Resolve(ref)
		if err != nil {
			return err
		}
		id, err := project.RecordAgentFrame.Find(s.Tx, frame.ID)
		if err != nil {
			return err
		}
		if run, err = record.Agents.Find(s.Tx, id); err != nil {
			return err
		}
		l, err = usage.FilesWithPatches(s, frame.ID)
		return err
	})
	if err != nil || run.Worktree == "" && !run.IsRemote() || !run.State.Ended() {
		return l, err
	}
	patch, cut, err := supervise.ReadFrom(record.Patch(a.Data, run.ID), 0, maxPatchFile)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil // it changed nothing, or flame did not see its end
	}
	if err != nil {
		l.Trouble = "the patch of the agent's worktree cannot be read: " + err.Error()
		return l, nil
	}
	return usage.FileListOf(changes.SplitPatch(string(patch), cut)), nil
}

// noteFiles stores the changes to files from the log of an ending agent, unless its host has
// reported them meanwhile. Changes by subagents that flame knows are in the frames of those
// subagents.
func noteFiles(ctx context.Context, a *Agents, told record.Result, session string) error {
	session = cmp.Or(session, told.Session, told.ID)
	for calls := range slices.Chunk(record.Calls(record.Messages(a.Data, told.Agent, a.Hosts)), maxCalls) {
		err := a.Project.Store.Update(ctx, func(tx project.Tx) error {
			below, err := tx.FindSessions(project.SessionQuery{Parent: session, Limit: 1})
			if err != nil {
				return err
			}
			own := slices.DeleteFunc(slices.Clone(calls), func(c usage.FileCall) bool { return c.Below && len(below) > 0 })
			return usage.AddFiles(a.Project.Step(tx, project.Caller{}), session, told.Frame, own)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
