// Package glance is what a person wants to see of their work at a glance, as a host's
// status line shows it all the time: so it reads little, and changes nothing.
package glance

import (
	"context"
	"encoding/json"

	"flame/agents/convergence"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// A Glance is one look at the work of a session.
type Glance struct {
	Frame  core.Frame `json:"-"` // that the session works in
	Plan   Place      `json:"plan,omitzero"`
	Agents int        `json:"agents"` // that run for the session, at any depth
	Cost   Cost       `json:"cost"`
	Waits  Waits      `json:"waits"`
}

// A Place is where work stands in a plan: the planned frame that it is in, counted from 1,
// or between planned frames how many of them have ended. Invalidated frames do not count.
type Place struct {
	At int `json:"at"`
	Of int `json:"of"` // 0: there is no plan
}

// A Cost is what the root of a session and all frames below it cost so far.
type Cost struct {
	USD   float64 `json:"usd"`
	Whole bool    `json:"whole"` // false: there are more frames than are added up here
}

// Waits are what a person is to look at.
type Waits struct {
	Conflicts int `json:"conflicts"` // between agents' results, that only a person can settle
	Limits    int `json:"limits"`    // agents that a limit ended, of time or of a budget, since the last prompt
	Failed    int `json:"failed"`    // agents that failed otherwise since then
}

// Most of what is read for a glance.
const (
	maxCounted = 400 // frames whose cost is added up
	maxPlanned = 100 // planned frames beside each other, of longer plans there is no Place
	maxClimb   = 8   // levels above a frame at which its plan is looked for
	maxEnds    = 20  // agents that ended since the last prompt
)

// Of looks at the caller's work. ok is false if the caller has no frame, or flame is off.
func Of(ctx context.Context, p *project.Project, by project.Caller) (g Glance, ok bool, err error) {
	err = p.View(ctx, by, func(s *project.Step) error {
		if off, err := s.Off(); off || err != nil {
			return err
		}
		if g.Frame, ok, err = s.Current(); !ok || err != nil {
			return err
		}
		session := s.Session.ID
		if by.Anonymous() {
			session = g.Frame.Session
		}
		if err := g.look(s, session); err != nil {
			return err
		}
		g.Waits.Conflicts, err = conflicts(s.Tx, by, session)
		return err
	})
	return g, ok, err
}

// look reads what is about a session.
func (g *Glance) look(s *project.Step, session string) (err error) {
	if g.Plan, err = placeOf(s.Tx, g.Frame); err != nil {
		return err
	}
	if g.Cost, err = costOf(s, session, g.Frame); err != nil {
		return err
	}
	var tree record.Tree
	if _, err := record.Trees.Load(s.Tx, session, &tree); err != nil {
		return err
	}
	g.Agents = len(tree.Live)
	return g.Waits.since(s, session)
}

// placeOf finds the nearest plan that a frame is in.
func placeOf(tx project.Tx, frame core.Frame) (Place, error) {
	if len(frame.PlannedChildren) > 0 {
		return placeIn(tx, frame.PlannedChildren, "")
	}
	above, err := tx.Ancestors(frame.ID, maxClimb)
	if err != nil {
		return Place{}, err
	}
	for id := frame.ID; len(above) > 0; id, above = above[0].ID, above[1:] {
		if planned := above[0].PlannedChildren; len(planned) > 0 {
			return placeIn(tx, planned, id)
		}
	}
	return Place{}, nil
}

// placeIn returns the place of frame id among planned ones; of one that is not among them,
// how many of these have ended.
func placeIn(tx project.Tx, planned []string, id string) (place Place, err error) {
	if len(planned) > maxPlanned {
		return place, nil
	}
	frames, err := tx.FramesOf(planned)
	statuses := map[string]core.Status{}
	for _, frame := range frames {
		statuses[frame.ID] = frame.Status
	}
	ended, at := 0, 0
	for _, one := range planned {
		status, there := statuses[one]
		if !there || status == core.Invalidated {
			continue
		}
		place.Of++
		if status.Ended() {
			ended++
		}
		if one == id {
			at = place.Of
		}
	}
	if place.At = at; at == 0 {
		place.At = ended
	}
	return place, err
}

// costOf adds up the tree that a session began, or else the one that its frame is in.
func costOf(s *project.Step, session string, frame core.Frame) (Cost, error) {
	root, begun := "", s.Session
	if begun.ID != session {
		var err error
		if begun, err = s.Tx.Session(session); project.IgnoreMissing(err) != nil {
			return Cost{}, err
		}
	}
	if root = begun.Root; root == "" {
		top, err := s.Top(frame)
		if err != nil {
			return Cost{}, err
		}
		root = top.ID
	}
	used, whole, err := s.Tx.UsageUnder(root, maxCounted)
	return Cost{USD: used.CostUSD, Whole: whole}, err
}

// since counts the agents that a session started and that ended badly since its last
// prompt: with that a person has taken note.
func (w *Waits) since(s *project.Step, session string) error {
	presence, err := s.PresenceOf(session)
	if err != nil || session == "" {
		return err
	}
	ends, err := s.Tx.FindEvents(project.EventQuery{
		Below: session, AfterSeq: presence.Turn, Kinds: []string{core.SubagentStop}, Limit: maxEnds, Last: true,
	})
	for _, end := range ends {
		var told struct {
			State  core.AgentState `json:"state"`
			Reason string          `json:"stop_reason"`
		}
		if json.Unmarshal(end.Data, &told) != nil {
			continue // an import may hold anything
		}
		switch {
		case told.State == core.AgentTimeout || supervise.OverBudget(told.Reason):
			w.Limits++
		case told.State == core.AgentError || told.State == core.AgentOrphaned:
			w.Failed++
		}
	}
	return err
}

// conflicts counts those that wait for the person of a session, or for one at a shell.
func conflicts(tx project.Tx, by project.Caller, session string) (n int, err error) {
	err = convergence.Open.Each(tx, func(_ string, c convergence.Waiting) error {
		if by.Anonymous() || c.Person == session || c.Person == project.CommandLine {
			n += c.Conflicts
		}
		return nil
	})
	return n, err
}
