// Package turns handles what hosts report about a session's turns: the prompt that begins
// one, the requests to the model, and its end.
package turns

import (
	"cmp"
	"context"
	"errors"

	"flame/core"
	"flame/core/judge"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/conversation"
	"flame/project/stack"
	"flame/project/usage"
)

// A Turn is what a host reports when an agent stops to wait for input.
type Turn struct {
	Prompt      string   // the host's id of the prompt that began it; empty: the last one
	LastMessage string   // of the agent; becomes the summary of a frame that ends with the turn
	Failed      bool     // it was stopped, or an error ended it
	Stopped     string   // of a turn that failed: the host's own words in its place; empty: the user stopped it
	Running     []string // session ids of the children that still run; nil: not reported
	Transcript  string   // path of the host's log of the session; empty without one

	// Seen returns what the host shows of the turn; nil: nothing. It is only called where
	// that may matter, and takes no longer than a hook may.
	Seen func() autonomy.Seen

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
	if err := weighTurn(s, turn); err != nil {
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
	mine.Answered = cmp.Or(turn.Prompt, mine.Prompt)
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

// weighTurn notes what was seen of the turn, counts whether it made progress, and
// considers a pop.
func weighTurn(s *project.Step, turn Turn) error {
	frame, ok, err := s.Current()
	if err != nil || !ok {
		return err
	}
	progress, err := progressed(s)
	if err != nil {
		return err
	}
	seen, err := turn.look(s)
	if err != nil {
		return err
	}
	if s.Session.State != core.SessionEnded {
		err = autonomy.UpdateScene(s, func(c *autonomy.Scene) { progress = c.End(turn.LastMessage, seen) || progress })
	}
	if err != nil {
		return err
	}
	err = autonomy.UpdateActivity(s, frame.ID, func(a *autonomy.Activity) {
		if a.NoProgressTurns++; progress {
			a.NoProgressTurns = 0
		}
		a.Tokens = cmp.Or(seen.Tokens, a.Tokens)
	})
	if err != nil {
		return err
	}
	return weighPop(s, turn)
}

// look returns what the host shows of the turn, as far as it matters: at level manual
// nothing is judged, and what is taken in late says what there was, not what there is.
func (t Turn) look(s *project.Step) (seen autonomy.Seen, err error) {
	judged, err := autonomy.Judges(s)
	if err == nil && judged && t.Seen != nil {
		seen = t.Seen()
	}
	if t.Failed {
		seen.Stopped = cmp.Or(seen.Stopped, t.Stopped, stopped)
	}
	return seen, err
}

// stopped is what stands in a conversation where a user stopped the agent.
const stopped = "[Request interrupted by user]"

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

// weighMissed takes in what a host shows of the turn before a prompt, where its end did not
// show it: the turn did not end by itself, or the host's log was late. In the second case
// its pop is considered now, unless the prompt asks for more of the work.
func weighMissed(s *project.Step, prompt string, look func() autonomy.Seen) error {
	known, err := autonomy.SceneKnown(s)
	if err != nil || known || look == nil {
		return err
	}
	seen, answered := look(), false
	if err := autonomy.UpdateScene(s, func(c *autonomy.Scene) {
		answered = c.Answered()
		c.Look(seen)
	}); err != nil {
		return err
	}
	mine, err := s.PresenceOf(s.Session.ID)
	if err != nil || !answered || !mine.Rested || judge.AsksForMore(prompt) {
		return err
	}
	return weighPop(s, Turn{LastMessage: mine.Fallback})
}

// weighPop suggests ending the current frame if that is due, or at level auto ends it
// with the agent's last message as its summary, if there is proof that it may (DESIGN §6).
// It leaves alone roots, turns that did not end by themselves, and at level auto frames
// with children in progress. Events that are taken in late are not judged.
func weighPop(s *project.Step, turn Turn) error {
	seen, err := autonomy.Observe(s, "")
	frame, level := seen.Frame, seen.Config.Level
	if err != nil || s.Project.Late || level == core.AutonomyManual || frame.Parent == "" || frame.ID == s.Session.Root {
		return err
	}
	advice := seen.Pop(autonomy.PopQuestion{Running: len(turn.Running)})
	advice.Recommended = advice.Recommended && !turn.Failed
	if level != core.AutonomyAuto || !advice.Finished || !advice.Recommended {
		return autonomy.Advise(s, &advice)
	}
	if seen.Open > 0 {
		return nil
	}
	popped := stack.Popped{Frame: frame}
	s.Rule = autonomy.Rule
	err = stack.Finish(s, &popped, stack.PopArgs{Status: advice.Status, Summary: turn.LastMessage})
	if s.Rule = ""; err != nil {
		return err
	}
	return autonomy.NoteDone(s, advice, "")
}
