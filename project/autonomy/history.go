package autonomy

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"flame/core"
	"flame/project"
)

const (
	// recordHistory has the project's suggestions, one in each record. The ids of the
	// records are numbers, the oldest first. Older versions of flame kept all suggestions
	// in one record with an empty id.
	recordHistory project.Kind[[]core.Suggestion] = "suggestion_history"

	// recordFollowed, by frame, is the suggestion because of which the frame began, or flame
	// ended it. Flame keeps it until it knows whether that is undone, and no longer than in
	// the history.
	recordFollowed project.Kind[core.Suggestion] = "suggestion_followed"
)

// maxHistory limits the history of suggestions (spec: autonomy §5).
const maxHistory = 100

// A page is a record of the history.
type page struct {
	id   string
	list []core.Suggestion
}

// pages returns the history. An unreadable page counts as empty, so that it cannot stop an
// operation.
func pages(s *project.Step) (all []page, err error) {
	err = s.Tx.Records(string(recordHistory), project.Which{}, func(id string, decode func(any) error) error {
		p := page{id: id}
		if err := decode(&p.list); unreadable(err) {
			s.Project.Log.Warn("flame cannot read a part of the history of suggestions, and leaves it out", "id", id, "error", err)
			p.list = nil
		} else if err != nil {
			return err
		}
		all = append(all, p)
		return nil
	})
	return all, err
}

// suggestionHistory returns the suggestions of the history, the oldest first.
func suggestionHistory(s *project.Step) (history []core.Suggestion, err error) {
	all, err := pages(s)
	for _, p := range all {
		history = append(history, p.list...)
	}
	return history, err
}

// remember adds a suggestion to the project's history.
func remember(s *project.Step, suggestion core.Suggestion) error {
	all, err := pages(s)
	if err != nil {
		return err
	}
	last := 0
	if len(all) > 0 {
		last, _ = strconv.Atoi(all[len(all)-1].id) // an empty id counts as 0
	}
	return errors.Join(trim(s, all), recordHistory.Save(s.Tx, fmt.Sprintf("%010d", last+1), []core.Suggestion{suggestion}))
}

// trim makes room in the history for another suggestion. If it is full, the newer half stays.
func trim(s *project.Step, all []page) error {
	surplus := 1
	for _, p := range all {
		surplus += len(p.list)
	}
	if surplus <= maxHistory {
		return nil
	}
	surplus -= maxHistory / 2
	for _, p := range all {
		gone := p.list[:min(surplus, len(p.list))]
		for _, old := range gone {
			if err := forgetFollowed(s, old); err != nil {
				return err
			}
		}
		if surplus -= len(gone); len(gone) < len(p.list) {
			return recordHistory.Save(s.Tx, p.id, p.list[len(gone):])
		}
		if err := recordHistory.Delete(s.Tx, p.id); err != nil || surplus == 0 {
			return err
		}
	}
	return nil
}

// rewrite changes the newest entry of the history for which is returns true.
func rewrite(s *project.Step, is func(core.Suggestion) bool, change func(*core.Suggestion)) error {
	all, err := pages(s)
	for _, p := range slices.Backward(all) {
		for i, h := range slices.Backward(p.list) {
			if is(h) {
				change(&p.list[i])
				return recordHistory.Save(s.Tx, p.id, p.list)
			}
		}
	}
	return err
}

// unreadable reports whether an error is about the content of a record, not about the store.
func unreadable(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, form := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || form
}

// stands returns a test for the entry of a suggestion whose outcome is unknown.
func stands(s core.Suggestion) func(core.Suggestion) bool {
	return func(h core.Suggestion) bool { return h.Outcome == "" && h.Same(s) }
}

// settle records the outcomes of suggestions: in the history, in the counters, and in what
// flame learns.
func settle(s *project.Step, ended ...core.Suggestion) error {
	for _, e := range ended {
		if err := rewrite(s, stands(e), func(h *core.Suggestion) { *h = e }); err != nil {
			return err
		}
		if err := countSuggestion(s, e, ""); err != nil {
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

// NoteOver records that a frame ended or was invalidated or, with left, that the caller's
// session left it to work in another. If the frame has no work, the push that began it counts
// as undone: any suggested push or, with left, only a push that flame made by itself.
func NoteOver(s *project.Step, frame core.Frame, left bool) error {
	push, ok, err := followed(s, frame.ID, core.SuggestPush)
	if err != nil || !ok || left && (push.Outcome != core.Done || frame.Status != core.InProgress) {
		return err
	}
	idle, err := nothingDone(s, frame, push)
	switch {
	case err != nil || left && !idle:
		return err
	case idle:
		err = takeBack(s, push)
	}
	return errors.Join(err, recordFollowed.Delete(s.Tx, frame.ID))
}

// NoteTakenUp records that work continues in a frame that had ended. If flame had ended it by
// itself, the pop counts as undone.
func NoteTakenUp(s *project.Step, frame string) error {
	pop, ok, err := followed(s, frame, core.SuggestPop)
	if err != nil || !ok {
		return err
	}
	return errors.Join(takeBack(s, pop), recordFollowed.Delete(s.Tx, frame))
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

// takeBack records that a suggestion was followed and then undone.
func takeBack(s *project.Step, followed core.Suggestion) error {
	err := rewrite(s, func(h core.Suggestion) bool {
		return h.Outcome == followed.Outcome && h.EndedAt == followed.EndedAt && h.Made == followed.Made && h.Same(followed)
	}, func(h *core.Suggestion) { *h = h.End(core.Undone, s.Now) })
	if err != nil {
		return err
	}
	if err := countSuggestion(s, followed.End(core.Undone, s.Now), followed.Outcome); err != nil {
		return err
	}
	return UpdateStats(s, func(c *core.AutonomyStats) { c.Undone++ })
}

// hasty is how long a frame that flame began must last for a summary alone to count as work:
// an agent that does not want the frame ends it at once, and has to write some summary.
const hasty = core.Millis(60_000)

// nothingDone reports whether a frame that began because of a suggestion has no work.
func nothingDone(s *project.Step, frame core.Frame, began core.Suggestion) (bool, error) {
	summed := frame.Summary != ""
	if age := s.Now - frame.StartedAt; began.Outcome == core.Done && 0 <= age && age < hasty {
		summed = false
	}
	if summed {
		return false, nil
	}
	seen, err := recordActivity.Of(s.Tx, frame.ID)
	if err != nil {
		return false, err
	}
	// Turns, prompts and tokens are no work yet.
	seen.Messages, seen.Tokens, seen.NoProgressTurns = 0, 0, 0
	if !reflect.ValueOf(seen).IsZero() {
		return false, nil
	}
	bore, err := bore(s, frame)
	return !bore, err
}
