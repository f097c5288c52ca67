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
)

// maxLabel is the length in characters that a frame's goal is cut to as the label of
// its session.
const maxLabel = 80

// Graph returns the graph of the agents that flame started: the sessions that asked
// for them, the agents, and what was made of their results (spec: agents §13). Its
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
		if err := addSessions(tx, g, runs); err != nil {
			return err
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

// addSessions adds the sessions that asked for agents and are none themselves.
func addSessions(tx project.Tx, g *graph.Graph, runs []record.Run) error {
	for _, run := range runs {
		if _, known := g.Node(run.ParentSession); known || run.ParentAgent != "" {
			continue
		}
		node := graph.Node{ID: run.ParentSession, Kind: graph.KindSession, Started: run.CreatedAt}
		if session, err := tx.Session(run.ParentSession); err == nil {
			node.Label, node.Status, node.Frame, node.Started = session.Title, string(session.State), session.Root, session.CreatedAt
			if frame, err := tx.Frame(session.Root); err == nil && node.Label == "" {
				node.Label = core.OneLine(frame.Goal, maxLabel)
			}
		}
		if err := g.AddNode(node); err != nil {
			return err
		}
	}
	return nil
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
