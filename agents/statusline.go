package agents

import (
	"context"
	"encoding/json"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/usage"
)

// A StatusSummary is the work of a session for the status line of a host. The host shows it all the
// time, so reading it must be cheap and change nothing.
type StatusSummary struct {
	Frame  core.Frame `json:"-"`      // in which the session works
	Agents int        `json:"agents"` // running agents of the session, at any depth
	Cost   Cost       `json:"cost"`
	Waits  Attention  `json:"waits"`
}

// A Cost is the cost so far of a session with its subagents and agents.
type Cost struct {
	USD   float64 `json:"usd"`
	Whole bool    `json:"whole"` // false: a price is not known
}

// Attention counts the things that a person should look at.
type Attention struct {
	Conflicts int `json:"conflicts"` // between agents' results, that only a person can settle
	Limits    int `json:"limits"`    // agents that a time limit or a budget ended since the last prompt
	Failed    int `json:"failed"`    // agents that failed for other reasons since then
}

// maxEnds bounds the agents that ended since the last prompt, of which a glance reads.
const maxEnds = 20

// StatusSummaryFor returns a glance at the caller's work. ok is false if the caller has no frame, or
// flame is off.
func StatusSummaryFor(ctx context.Context, p *project.Project, by project.Caller) (g StatusSummary, ok bool, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
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
		used, err := usage.Spent(s.Tx, session)
		if err != nil {
			return err
		}
		g.Cost = Cost{USD: used.CostUSD, Whole: used.Unpriced == 0}
		tree, err := record.Trees.Find(s.Tx, session)
		if err != nil {
			return err
		}
		g.Agents = len(tree.Live)
		if err := g.Waits.since(s, session); err != nil {
			return err
		}
		g.Waits.Conflicts, err = conflicts(s.Tx, by, session)
		return err
	})
	return g, ok, err
}

// since counts the agents of a session that ended badly since its last prompt. With a prompt,
// the person has seen the earlier ones.
func (w *Attention) since(s *project.Op, session string) error {
	presence, err := project.RecordHookState.Find(s.Tx, session)
	if err != nil || session == "" {
		return err
	}
	ends, err := s.Tx.FindEvents(project.EventQuery{
		Below: session, AfterSeq: presence.TurnSeq, Kinds: []string{core.SubagentStop}, Limit: maxEnds, Last: true,
	})
	for _, end := range ends {
		var told struct {
			State  core.AgentState `json:"state"`
			Reason string          `json:"stop_reason"`
		}
		if json.Unmarshal(end.Data, &told) != nil {
			continue // imported events may have any content
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

// conflicts counts the conflicts that wait for the person of a session, or for a person at a
// shell.
func conflicts(tx project.Tx, by project.Caller, session string) (n int, err error) {
	open, err := converge.WithOpen(tx)
	for _, c := range open {
		if by.Anonymous() || c.Person == session || c.Person == project.CommandLine {
			n += c.Open
		}
	}
	return n, err
}
