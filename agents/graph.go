package agents

import (
	"cmp"
	"context"
	"slices"

	"flame/agents/convergence"
	"flame/agents/graph"
	"flame/agents/handoff"
	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/children"
)

// maxLabel is the length in characters that a frame's goal is cut to as the label of
// its session.
const maxLabel = 80

// maxNative bounds the hosts' own subagents in a graph, the latest activity first.
const maxNative = 500

// Graph returns the graph of agents and of hosts' own subagents: the sessions that asked
// for them, they themselves, and what was made of their results (spec: agents §13). Its
// links are those of who started whom, of handoffs, of work that was gone on with,
// and of results that went into others.
func (a *Agents) Graph(ctx context.Context) (*graph.Graph, error) {
	g := &graph.Graph{}
	return g, a.Project.Store.View(ctx, func(tx project.Tx) error {
		runs, err := record.List(tx)
		if err != nil {
			return err
		}
		slices.Reverse(runs) // the oldest first: what starts before what it started
		if err := addNative(tx, g, runs); err != nil {
			return err
		}
		for _, run := range runs {
			if run.ParentAgent != "" {
				continue
			}
			if err := addSession(tx, g, run.ParentSession, run.CreatedAt); err != nil {
				return err
			}
		}
		for _, run := range runs {
			if err := g.AddNode(nodeOf(run)); err != nil {
				return err
			}
		}
		for _, run := range runs {
			if run.ResumedFrom != "" {
				if err := g.Link(graph.Edge{From: run.ID, To: run.ResumedFrom, Kind: graph.ResumedFrom}); err != nil {
					return err
				}
			}
			var h handoff.Handoff
			if known, err := handoff.Records.Load(tx, run.ID, &h); err != nil {
				return err
			} else if known {
				if err := g.Link(graph.Edge{From: cmp.Or(run.ParentAgent, run.ParentSession), To: run.ID, Kind: graph.Handoff}); err != nil {
					return err
				}
			}
		}
		return addConvergences(tx, g)
	})
}

// nodeOf is an agent in the graph.
func nodeOf(run record.Run) graph.Node {
	return graph.Node{
		ID: run.ID, Kind: graph.KindSubagent, Parent: cmp.Or(run.ParentAgent, run.ParentSession), Label: run.Description, Status: string(run.State),
		AgentType: run.Type, Model: run.Model, Frame: run.Frame, Usage: run.Progress.Used(), Started: run.CreatedAt, Ended: run.EndedAt,
	}
}

// addNative adds hosts' own subagents, and the sessions that asked for them. One that an
// agent of flame's asked for is below that agent.
func addNative(tx project.Tx, g *graph.Graph, runs []record.Run) error {
	agents := map[string]string{} // by session
	for _, run := range runs {
		agents[run.Session] = run.ID
	}
	native, err := natives(tx)
	if err != nil {
		return err
	}
	for _, n := range native {
		if _, known := g.Node(n.ID); known || n.ID == "" || n.Parent == "" || agents[n.ID] != "" {
			continue
		}
		n.Parent = cmp.Or(agents[n.Parent], n.Parent)
		if frame, err := tx.Frame(n.Frame); err == nil {
			n.Status, n.Usage, n.Started, n.Ended = string(frame.Status), frame.Usage, cmp.Or(n.Started, frame.CreatedAt), frame.EndedAt
		}
		if err := g.AddNode(n); err != nil {
			return err
		}
	}
	for _, n := range g.Nodes() {
		if !slices.ContainsFunc(runs, func(run record.Run) bool { return run.ID == n.Parent }) {
			if err := addSession(tx, g, n.Parent, n.Started); err != nil {
				return err
			}
		}
	}
	return nil
}

// natives returns hosts' own subagents: those whose sessions are known, and those of
// which only what they were asked for is kept.
func natives(tx project.Tx) (nodes []graph.Node, err error) {
	sessions, err := tx.FindSessions(project.SessionQuery{Tracked: true, Limit: maxNative})
	if err != nil {
		return nil, err
	}
	slices.Reverse(sessions)
	for _, s := range sessions {
		node := nativeNode(s.ID, s.Parent, s.Title, s.Root)
		node.Status, node.Started = string(s.State), s.CreatedAt
		nodes = append(nodes, node)
	}
	asked, err := children.AllAsked(tx)
	for _, a := range asked {
		nodes = append(nodes, nativeNode(cmp.Or(a.Session, a.Frame), a.Parent, a.Title, a.Frame))
	}
	return nodes, err
}

func nativeNode(id, parent, title, frame string) graph.Node {
	return graph.Node{
		ID: id, Kind: graph.KindSubagent, Parent: parent, Label: core.SubagentGoal(title), AgentType: core.SubagentType(title), Frame: frame,
	}
}

// addSession adds a session that asked for an agent at some time, unless it is known.
func addSession(tx project.Tx, g *graph.Graph, id string, asked core.Millis) error {
	if _, known := g.Node(id); known {
		return nil
	}
	node := graph.Node{ID: id, Kind: graph.KindSession, Started: asked}
	session, err := tx.Session(id)
	if err = project.IgnoreMissing(err); err != nil {
		return err
	}
	if session.ID != "" {
		node.Label, node.Status, node.Frame, node.Started = session.Title, string(session.State), session.Root, session.CreatedAt
		if frame, err := tx.Frame(session.Root); err == nil && node.Label == "" {
			node.Label = core.OneLine(frame.Goal, maxLabel)
		}
	}
	return g.AddNode(node)
}

// addConvergences adds what was made of agents' results.
func addConvergences(tx project.Tx, g *graph.Graph) error {
	all, err := convergence.Records.All(tx)
	if err != nil {
		return err
	}
	for _, c := range all {
		status := "complete"
		if c.Result.Unresolved > 0 {
			status = "waits for review"
		}
		node := graph.Node{ID: c.ID, Kind: graph.KindConvergence, Label: string(c.Options.Strategy), Status: status, Started: c.CreatedAt, Ended: c.UpdatedAt}
		if err := g.AddNode(node); err != nil {
			return err
		}
		for _, input := range c.Result.Inputs {
			if err := g.Link(graph.Edge{From: input, To: c.ID, Kind: graph.ConvergedInto}); err != nil {
				return err
			}
		}
	}
	return nil
}
