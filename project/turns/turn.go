// Package turns handles what hosts report about a session's turns: the prompt that begins
// one, the requests to the model, and its end.
package turns

import (
	"cmp"
	"context"
	"errors"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/conversation"
	"flame/project/stack"
	"flame/project/usage"
)

// A Turn is what a host reports when an agent stops to wait for input.
type Turn struct {
	LastMessage string   // of the agent; becomes the summary of a frame that ends with the turn
	Failed      bool     // it was stopped, or an error ended it
	Running     []string // session ids of the children that still run; nil: not reported
	Transcript  string   // path of the host's log of the session; empty without one

	Usage    []usage.Message     // of answers not reported before; empty if the host does not report it
	Editions map[core.Millis]int // of the requests that these answers belong to, by the times of the answers
}

// End records that the caller's turn is over. Children that the host no longer runs are
// orphaned, a pop that is due is made or suggested, and the cost of the turn is counted
// later. A session that flame never saw stays unknown.
func End(ctx context.Context, p *project.Project, by project.Caller, turn Turn) error {
	return p.Together(ctx, func(p *project.Project) error {
		if turn.Running != nil {
			if err := children.Orphan(ctx, p, by, turn.Running); err != nil {
				return err
			}
		}
		return p.IfKnown(ctx, by, func(s *project.Step) error { return endTurn(s, turn) })
	})
}

func endTurn(s *project.Step, turn Turn) error {
	if err := weighTurn(s, turn.LastMessage); err != nil {
		return err
	}
	if err := rest(s, turn); err != nil {
		return err
	}
	if s.Session.State == core.SessionEnded { // the end of the turn was told after that
		if err := stack.CorrectEnd(s); err != nil {
			return err
		}
	}
	if err := errors.Join(usage.Add(s, turn.Usage), conversation.NoteAnswers(s.Tx, s.Session.ID, turn.Editions)); err != nil {
		return err
	}
	if err := s.CountLater(turn.Transcript); err != nil {
		return err
	}
	return children.Idle(s)
}

// rest records that the turn ended by itself, and the last message: a host may report
// neither again when the session ends.
func rest(s *project.Step, turn Turn) error {
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil {
		return err
	}
	before := mine
	mine.Fallback = cmp.Or(turn.LastMessage, mine.Fallback)
	if s.Session.Parent == "" {
		busy, err := children.Running(s)
		if err != nil {
			return err
		}
		mine.Rested = !turn.Failed && len(turn.Running) == 0 && !busy
	}
	if mine == before {
		return nil
	}
	return s.SavePresence(s.Session.ID, mine)
}

// weighTurn counts whether the turn made progress, and considers a pop.
func weighTurn(s *project.Step, lastMessage string) error {
	frame, ok, err := s.Current()
	if err != nil || !ok {
		return err
	}
	progress, err := progressed(s)
	if err != nil {
		return err
	}
	err = autonomy.UpdateActivity(s, frame.ID, func(a *autonomy.Activity) {
		if a.NoProgressTurns++; progress {
			a.NoProgressTurns = 0
		}
	})
	if err != nil {
		return err
	}
	return weighPop(s, lastMessage)
}

// progressed reports whether the session changed anything in the tree since its turn
// began. Changed files count, because they are artifacts.
func progressed(s *project.Step) (bool, error) {
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil {
		return false, err
	}
	made, err := s.Tx.FindEvents(project.EventQuery{AfterSeq: mine.Turn, Session: s.Session.ID, Limit: 1, Kinds: []string{
		core.FrameCreated, core.FramePlanned, core.FrameActivated, core.FrameReopened, core.FrameUpdated, core.FrameCompleted, core.SummaryStored,
	}})
	return len(made) > 0, err
}

// weighPop suggests ending the current frame if that is due, or at level auto ends it
// with the agent's last message as its summary. It leaves alone roots, and at level auto
// frames with children in progress.
func weighPop(s *project.Step, lastMessage string) error {
	frame, config, seen, err := autonomy.Inputs(s, "")
	if err != nil || config.Level == core.AutonomyManual || frame.Parent == "" || frame.ID == s.Session.Root {
		return err
	}
	advice := autonomy.PopAdvice(frame, config, seen, autonomy.PopQuestion{})
	if config.Level != core.AutonomyAuto {
		return autonomy.Suggest(s, &advice)
	}
	open, err := stack.Children(s, frame.ID, core.InProgress)
	if err != nil || !advice.Recommended || len(open) > 0 {
		return err
	}
	popped := stack.Popped{Frame: frame}
	s.Rule = autonomy.Rule
	err = stack.Finish(s, &popped, stack.PopArgs{Status: advice.Status, Summary: lastMessage})
	if s.Rule = ""; err != nil {
		return err
	}
	return autonomy.UpdateStats(s, func(c *core.AutonomyStats) { c.AutoPops++ })
}
