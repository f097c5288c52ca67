package autonomy

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"flame/core"
	"flame/project"
	"flame/project/learned"
)

const (
	recordHistory project.Kind[[]core.Suggestion] = "suggestion_history" // of the project, oldest first

	// recordFollowed, by frame, is the suggestion that a frame was begun by, or that flame
	// ended it by. It is kept until it is known whether that is taken back, and no longer
	// than in the history.
	recordFollowed project.Kind[core.Suggestion] = "suggestion_followed"
)

// maxHistory limits the history of suggestions (spec: autonomy §5).
const maxHistory = 100

// remember adds a suggestion to the project's history. When that is full, it keeps the
// newer half.
func remember(s *project.Step, suggestion core.Suggestion) error {
	return changeHistory(s, func(history []core.Suggestion) []core.Suggestion { return append(history, suggestion) })
}

// rewrite changes the newest entry of the history that is.
func rewrite(s *project.Step, is func(core.Suggestion) bool, change func(*core.Suggestion)) error {
	return changeHistory(s, func(history []core.Suggestion) []core.Suggestion {
		for i := range slices.Backward(history) {
			if is(history[i]) {
				change(&history[i])
				break
			}
		}
		return history
	})
}

func changeHistory(s *project.Step, change func([]core.Suggestion) []core.Suggestion) error {
	history, err := suggestionHistory(s)
	if err != nil {
		return err
	}
	history = change(history)
	if len(history) > maxHistory {
		for _, old := range history[:len(history)-maxHistory/2] {
			if err := forgetFollowed(s, old); err != nil {
				return err
			}
		}
		history = history[len(history)-maxHistory/2:]
	}
	return recordHistory.Save(s.Tx, "", history)
}

// suggestionHistory returns the history. One that cannot be read counts as empty, and is
// begun anew with the next suggestion: it must not stop what happens.
func suggestionHistory(s *project.Step) (history []core.Suggestion, err error) {
	_, err = recordHistory.Load(s.Tx, "", &history)
	if unreadable(err) {
		s.Project.Log.Warn("the history of suggestions cannot be read, and begins anew", "error", err)
		return nil, nil
	}
	return history, err
}

// unreadable reports whether an error is about what a record holds, not about the store.
func unreadable(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, form := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || form
}

func dropHistory(s *project.Step) error {
	frames, err := recordFollowed.IDs(s.Tx, "")
	if err != nil {
		return err
	}
	for _, frame := range frames {
		if err := recordFollowed.Delete(s.Tx, frame); err != nil {
			return err
		}
	}
	return recordHistory.Delete(s.Tx, "")
}

// settle records what became of suggestions that stood until now: in the history, the
// counters and what is learned from.
func settle(s *project.Step, ended ...core.Suggestion) error {
	for _, e := range ended {
		stands := func(h core.Suggestion) bool { return h.Outcome == "" && h.Same(e) }
		if err := rewrite(s, stands, func(h *core.Suggestion) { *h = e }); err != nil {
			return err
		}
		if err := learned.CountSuggestion(s, e, ""); err != nil {
			return err
		}
	}
	if len(ended) == 0 {
		return nil
	}
	return UpdateStats(s, func(c *core.AutonomyStats) {
		for _, e := range ended {
			switch e.Outcome {
			case core.Acted:
				c.ActedUpon++
			case core.Ignored:
				c.Ignored++
			case core.Unseen:
				c.Ignored++
				c.Unseen++
			}
		}
	})
}

// NoteEnded records that a frame ended or was invalidated. If a suggestion began it and
// nothing came of it, that push is taken back.
func NoteEnded(s *project.Step, frame core.Frame) error {
	push, ok, err := followed(s, frame.ID, core.SuggestPush)
	if err != nil || !ok {
		return err
	}
	idle, err := nothingDone(s, frame, push)
	if err != nil {
		return err
	}
	return errors.Join(takeBack(s, push, idle), recordFollowed.Delete(s.Tx, frame.ID))
}

// NoteLeft records that the caller's session left a frame to work in another. If flame
// began it by itself and nothing was done in it, that push is taken back.
func NoteLeft(s *project.Step, frame core.Frame) error {
	push, ok, err := followed(s, frame.ID, core.SuggestPush)
	if err != nil || !ok || push.Outcome != core.Done || frame.Status != core.InProgress {
		return err
	}
	idle, err := nothingDone(s, frame, push)
	if err != nil || !idle {
		return err
	}
	return errors.Join(takeBack(s, push, true), recordFollowed.Delete(s.Tx, frame.ID))
}

// NoteTakenUp records that work goes on in a frame that had ended. If flame had ended it
// by itself, that pop is taken back.
func NoteTakenUp(s *project.Step, frame string) error {
	pop, ok, err := followed(s, frame, core.SuggestPop)
	if err != nil || !ok {
		return err
	}
	return errors.Join(takeBack(s, pop, true), recordFollowed.Delete(s.Tx, frame))
}

// followed returns the suggestion of a type that led to a frame or to its end.
func followed(s *project.Step, frame string, kind core.SuggestionType) (f core.Suggestion, ok bool, err error) {
	ok, err = recordFollowed.Load(s.Tx, frame, &f)
	if unreadable(err) {
		return f, false, nil
	}
	return f, ok && f.Type == kind, err
}

// forgetFollowed drops the record of the frame that a suggestion led to.
func forgetFollowed(s *project.Step, old core.Suggestion) error {
	frame := old.Made
	if old.Type == core.SuggestPop {
		frame = old.Frame
	}
	if frame == "" || old.ActedAt == 0 {
		return nil
	}
	if _, ok, err := followed(s, frame, old.Type); err != nil || !ok {
		return err
	}
	return recordFollowed.Delete(s.Tx, frame)
}

// takeBack records that a suggestion was followed and then taken back, if it was.
func takeBack(s *project.Step, followed core.Suggestion, was bool) error {
	if !was {
		return nil
	}
	err := rewrite(s, func(h core.Suggestion) bool {
		return h.Outcome == followed.Outcome && h.EndedAt == followed.EndedAt && h.Made == followed.Made && h.Same(followed)
	}, func(h *core.Suggestion) { *h = h.End(core.Undone, s.Now) })
	if err != nil {
		return err
	}
	if err := learned.CountSuggestion(s, followed.End(core.Undone, s.Now), followed.Outcome); err != nil {
		return err
	}
	return UpdateStats(s, func(c *core.AutonomyStats) { c.Undone++ })
}

// hasty is how long a frame that flame began must last for a summary alone to count as
// work: who wants to be rid of it ends it at once, and has to say something.
const hasty = core.Millis(60_000)

// nothingDone reports whether nothing came of a frame that a suggestion began.
func nothingDone(s *project.Step, frame core.Frame, began core.Suggestion) (bool, error) {
	summed := frame.Summary != ""
	if age := s.Now - frame.StartedAt; began.Outcome == core.Done && 0 <= age && age < hasty {
		summed = false
	}
	if summed {
		return false, nil
	}
	var seen Activity
	if _, err := recordActivity.Load(s.Tx, frame.ID, &seen); err != nil {
		return false, err
	}
	// A turn, a prompt and tokens are no work yet.
	seen.Messages, seen.Tokens, seen.NoProgressTurns = 0, 0, 0
	if !reflect.ValueOf(seen).IsZero() {
		return false, nil
	}
	bore, err := learned.Bore(s, frame)
	return !bore, err
}
