package stack

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"flame/core"
	"flame/core/evidence"
	"flame/project"
	"flame/project/autonomy"
)

// EndTurn ends the turn of the caller's session. again tells that it had ended before, and a hook of the
// user's had it go on.
func EndTurn(s *project.Op, e TurnEnd, again bool) error {
	t, err := turnsOf(s)
	if err == nil && again {
		err = t.resume(s, e)
	}
	if err != nil || t.Asked == nil && t.First == nil && t.Last == "" {
		return err
	}
	return t.end(s, e)
}

// end ends the last turn. Its frame stays in progress while the session works in a frame below it.
func (t *userTurns) end(s *project.Op, e TurnEnd) error {
	e.Facts, t.Seen = evidence.Checks(e.Calls), cmp.Or(e.seen(), t.Seen)
	if t.Asked != nil && e.isOf(t.Asked.Prompt) {
		switch {
		case evidence.Works(e.Calls):
			if err := t.takeUp(s); err != nil {
				return err
			}
		case e.More:
			return nil // the next prompt shows it
		default:
			t.State = core.Completed
			return t.save(s)
		}
	}
	if t.Asked == nil && e.isOf(*t.last()) {
		t.State = cmp.Or(t.State, e.Status)
		if t.First != nil && t.First.Until == 0 {
			t.First.Until, t.First.End = s.Now, e
		}
	}
	if t.Last != "" && e.isOf(t.Prompt) {
		if err := t.endLast(s, e); err != nil {
			return err
		}
	}
	return t.save(s)
}

// endLast ends the frame of the last turn. One that was broken off, as it seemed, ends now.
func (t *userTurns) endLast(s *project.Op, e TurnEnd) error {
	frame, err := s.Tx.Frame(t.Last)
	if err != nil || frame.IsRemote() {
		return project.IgnoreMissing(err)
	}
	if !frame.IsOpen() && (frame.Status != core.Blocked || e.Prompt == "" || e.Status == core.Blocked) {
		return nil
	}
	at, err := outside(s, s.Session.Current, "")
	if err != nil {
		return err
	}
	inside, err := s.IsInside(at, t.Last)
	if err != nil || inside && at != t.Last {
		return err
	}
	if err := e.end(s, frame); err != nil || s.Session.Current != t.Last {
		return err // an item of a list stays current, and its host says when it ends
	}
	return errors.Join(project.WorksSince(s, s.Now, t.Root), autonomy.Enter(s, t.Root))
}

// BreakOffTurn ends the turn of the caller's session before a prompt, if no event reported its end. look
// returns how it ended; ok is false if the host does not show that, and the turn goes on with the prompt.
func BreakOffTurn(s *project.Op, prompt string, look func() (e TurnEnd, ok bool)) (goesOn bool, err error) {
	t, err := turnsOf(s)
	if err != nil || t.Asked == nil && t.First == nil && t.Last == "" {
		return false, err
	}
	last, err := s.Tx.Frame(t.Last)
	if project.IgnoreMissing(err) != nil {
		return false, err
	}
	at, err := outside(s, s.Session.Current, "")
	if err != nil {
		return false, err
	}
	first, open := t.First != nil && t.First.Until == 0, last.IsOpen() && (at == t.Last || at == t.Root)
	if !t.asked() && !first && !open {
		return false, nil
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil {
		return false, err
	}
	e, ok := look()
	if !ok && mine.EndedPrompt != "" && mine.EndedPrompt == mine.Prompt {
		e, ok = TurnEnd{Status: core.Completed, Said: mine.LastMessage}, true // in a frame below it, which ended since
	}
	if ok {
		if seen := e.seen(); seen != "" && seen == t.Seen { // the host still shows the turn before, or again
			e = TurnEnd{Status: core.Blocked, Said: leftTurn}
		}
		return false, t.end(s, e)
	}
	if t.State == core.Blocked {
		return false, t.end(s, TurnEnd{Status: core.Blocked, Said: leftTurn})
	}
	if t.Asked != nil && strings.HasPrefix(t.Asked.Text, "/") {
		return false, nil // the host did it itself
	}
	*t.last(), t.State = prompt, ""
	return true, t.save(s)
}

// leaveTurn ends the last turn of a session that has ended, unless work is left below it.
func leaveTurn(s *project.Op) error {
	t, err := turnsOf(s)
	if err == nil && (t.Asked != nil || t.First != nil || t.Last != "") && t.State == "" {
		t.State = core.Blocked
		err = t.save(s)
	}
	if err != nil || t.Last == "" {
		return err
	}
	left, err := s.Tx.FindFrames(project.FrameQuery{Under: t.Last, Statuses: []core.Status{core.InProgress, core.Planned}, Limit: maxItems})
	items, wrong := items(s, slices.Clone(left))
	if err = errors.Join(err, wrong); err != nil || len(left)-len(items) != 1 || !left[0].IsOpen() {
		return err
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil {
		return err
	}
	if mine.TurnEndedIdle {
		return End(s, &left[0], core.Completed, mine.LastMessage)
	}
	return End(s, &left[0], core.Blocked, leftTurn)
}
