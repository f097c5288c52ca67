// Package turns handles what hosts report about a session's turns: the prompt that begins
// one, the requests to the model, and its end.
package turns

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/usage"
	"flame/transcripts"
)

// An EndReport is what a host reports when an agent stops to wait for input.
type EndReport struct {
	Prompt      string   // the host's id of the prompt that began it; empty: the last one
	LastMessage string   // of the agent; becomes the summary of a frame that ends with the turn
	Again       bool     // it had ended before, and a hook of the user's had it go on
	Failed      bool     // the user stopped it, or an error ended it
	Stopped     string   // for a failed turn: the host's message in its place; empty: the user stopped it
	Running     []string // session ids of the children that still run; nil: not reported
	Transcript  string   // path of the host's log of the session; empty without one

	// Seen returns what the host shows of the turn; nil: nothing. Flame calls it only if
	// that may matter. It takes no longer than a hook may.
	Seen func() transcripts.TurnSummary

	Usage    []usage.AnswerUsage // of answers not reported before; empty if the host does not report it
	Editions map[core.Millis]int // of the requests that these answers belong to, by the times of the answers
}

// End records that the caller's turn is over. It orphans children that the host no longer
// runs, makes or suggests a pop that is due, and has flame count the cost of the turn later.
// A session that flame never saw stays unknown.
func End(ctx context.Context, p *project.Project, by project.Caller, turn EndReport) error {
	return p.Batch(ctx, func(p *project.Project) error {
		if turn.Running != nil {
			if err := children.Orphan(ctx, p, by, turn.Running); err != nil {
				return err
			}
		}
		return p.Run(ctx, by, func(s *project.Op) error {
			if s.NewSession {
				return nil
			}
			return s.Change(func(s *project.Op) error { return endTurn(s, turn) })
		})
	})
}

func endTurn(s *project.Op, turn EndReport) error {
	if err := weighTurn(s, turn); err != nil {
		return err
	}
	var seen transcripts.TurnSummary
	if turn.Seen != nil && !s.Project.Replaying {
		seen = turn.Seen()
	}
	if err := stack.EndTurn(s, turn.ended(seen), turn.Again); err != nil {
		return err
	}
	if err := rest(s, turn); err != nil {
		return err
	}
	if s.Session.State == core.SessionEnded { // the host reported the end of the turn after that of the session
		if err := stack.CompleteBlockedRoot(s); err != nil {
			return err
		}
	}
	if err := errors.Join(usage.Add(s, turn.Usage), usage.NoteAnswers(s.Tx, s.Session.ID, turn.Editions)); err != nil {
		return err
	}
	if err := s.CountLater(turn.Transcript); err != nil {
		return err
	}
	return children.Idle(s)
}

// rest records that the turn ended by itself, and the last message: a host may report
// neither again when the session ends.
func rest(s *project.Op, turn EndReport) error {
	rests := s.Session.Parent == "" && !turn.Failed && len(turn.Running) == 0
	if rests {
		busy, err := children.Running(s)
		if err != nil {
			return err
		}
		rests = !busy
	}
	return project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) {
		mine.LastMessage = cmp.Or(turn.LastMessage, mine.LastMessage)
		mine.EndedPrompt = cmp.Or(turn.Prompt, mine.Prompt)
		if s.Session.Parent == "" {
			mine.TurnEndedIdle = rests
		}
	})
}

// weighTurn records what flame saw of the turn, counts whether it made progress, and
// considers a pop.
func weighTurn(s *project.Op, turn EndReport) error {
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
		err = autonomy.UpdateScene(s, func(c *autonomy.SessionActivity) { progress = c.End(frame.ID, turn.LastMessage, seen) || progress })
	}
	if err != nil {
		return err
	}
	err = autonomy.UpdateActivity(s, frame.ID, func(a *autonomy.FrameActivity) {
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

// look returns what the host shows of the turn, if flame judges it: flame judges nothing at
// level manual, and no late events, because the host now shows a later state.
func (t EndReport) look(s *project.Op) (seen transcripts.TurnSummary, err error) {
	judged, err := autonomy.Enabled(s)
	if err == nil && judged && t.Seen != nil {
		seen = t.Seen()
	}
	if t.Failed {
		seen.Stopped = cmp.Or(seen.Stopped, t.Stopped, stopped)
	}
	return seen, err
}

// ended returns how the turn ended, with what the host shows of it.
func (t EndReport) ended(seen transcripts.TurnSummary) stack.TurnEnd {
	e := stack.TurnEnd{Prompt: t.Prompt, Status: core.Completed, Said: t.LastMessage, Calls: seen.Calls}
	e.More = t.Seen != nil && !seen.Whole
	if t.Failed {
		if e.Status = core.Failed; t.Stopped == "" {
			e.Status = core.Blocked
		}
		e.Said = strings.TrimLeft(t.LastMessage+"\n"+cmp.Or(t.Stopped, seen.Stopped, stopped), "\n")
	}
	return e
}

// stopped is the text in a conversation at the place where a user stopped the agent.
const stopped = "[Request interrupted by user]"

// progressed reports whether the session has changed the tree since its turn began. Changed
// files count, because they are artifacts.
func progressed(s *project.Op) (bool, error) {
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil {
		return false, err
	}
	made, err := s.Tx.FindEvents(project.EventQuery{AfterSeq: mine.TurnSeq, Session: s.Session.ID, Limit: 1, Kinds: []string{
		core.FrameCreated, core.FramePlanned, core.FrameActivated, core.FrameReopened, core.FrameUpdated, core.FrameCompleted, core.SummaryStored,
	}})
	return len(made) > 0, err
}

// weighMissed records what a host shows of the turn before a prompt, if the end of that turn
// did not show it: the turn did not end by itself, or the host's log was late. In the second
// case it considers the pop now, unless the prompt asks for more of the work.
func weighMissed(s *project.Op, prompt string, look func() transcripts.TurnSummary) error {
	known, err := autonomy.SceneKnown(s)
	if err != nil || known || look == nil {
		return err
	}
	at, _, err := s.Current()
	if err != nil {
		return err
	}
	seen, answered := look(), false
	if err := autonomy.UpdateScene(s, func(c *autonomy.SessionActivity) {
		answered = c.Answered()
		c.AddTurn(at.ID, seen)
	}); err != nil {
		return err
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil || !answered || !mine.TurnEndedIdle || evidence.AsksForMore(prompt) {
		return err
	}
	return weighPop(s, EndReport{LastMessage: mine.LastMessage})
}

// weighPop suggests ending the current frame if that is due. At level auto it ends the frame
// with the agent's last message as its summary, if there is proof of the result.
// It leaves alone roots, turns that did not end by themselves, late events, and at level auto
// frames with children in progress.
func weighPop(s *project.Op, turn EndReport) error {
	seen, err := autonomy.Observe(s, "")
	frame, level := seen.Frame, seen.Config.Level
	if err != nil || s.Project.Replaying || level == core.AutonomyManual || frame.Parent == "" || frame.ID == s.Session.Root {
		return err
	}
	if item, err := stack.IsItem(s, frame.ID); item || err != nil {
		return err // the host's list says when it ends
	}
	if turn, err := stack.IsTurn(s, frame.ID); turn || err != nil {
		return err // it ends by itself
	}
	advice := seen.Pop(len(turn.Running))
	advice.Recommended = advice.Recommended && !turn.Failed
	if level != core.AutonomyAuto || !advice.Proven || !advice.Recommended {
		return autonomy.Advise(s, &advice)
	}
	if seen.Open > 0 {
		return nil
	}
	popped := stack.PopResult{Frame: frame}
	s.Rule = autonomy.Rule
	err = stack.Finish(s, &popped, stack.PopArgs{Status: advice.Status, Summary: turn.LastMessage})
	if s.Rule = ""; err != nil {
		return err
	}
	return autonomy.NoteAutoMove(s, advice)
}
