package autonomy

import (
	"context"
	"errors"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

const (
	recordSuggestions project.Kind[[]core.Suggestion] = "suggestions" // by session: its live ones

	// ExpiryDeadline, by session, is the kind of deadline at which its next suggestion
	// expires.
	ExpiryDeadline = "suggestion"
)

// liveSuggestions returns the suggestions for the caller's session that have not expired.
func liveSuggestions(s *project.Step) ([]core.Suggestion, error) {
	live, _, err := suggestionsNow(s)
	return live, err
}

// takeLive is liveSuggestions for a caller that saves them afterwards: it records what
// became of the others.
func takeLive(s *project.Step) ([]core.Suggestion, error) {
	live, expired, err := suggestionsNow(s)
	if err != nil {
		return nil, err
	}
	return live, settle(s, expired...)
}

func suggestionsNow(s *project.Step) (live, expired []core.Suggestion, err error) {
	var all []core.Suggestion
	if _, err := recordSuggestions.Load(s.Tx, s.Session.ID, &all); err != nil {
		return nil, nil, err
	}
	live, expired = core.ExpireSuggestions(all, s.Now)
	return live, expired, nil
}

// Injectable returns the suggestions that belong in the caller's context: those about
// the frame it works in.
func Injectable(s *project.Step) ([]core.Suggestion, error) {
	config, err := configOf(s)
	if err != nil || !config.SuggestInContext || config.Level == core.AutonomyManual {
		return nil, err
	}
	live, err := liveSuggestions(s)
	if err != nil || len(live) == 0 {
		return nil, err
	}
	current, _, err := s.Current()
	return About(live, current.ID), err
}

// About returns the suggestions in list that are about a frame.
func About(list []core.Suggestion, frame string) []core.Suggestion {
	return lo.Filter(list, func(l core.Suggestion, _ int) bool { return frame != "" && l.Frame == frame })
}

func saveSuggestions(s *project.Step, live []core.Suggestion) error {
	if len(live) == 0 {
		if err := recordSuggestions.Delete(s.Tx, s.Session.ID); err != nil {
			return err
		}
		return s.Tx.ClearDeadline(ExpiryDeadline, s.Session.ID)
	}
	if err := recordSuggestions.Save(s.Tx, s.Session.ID, live); err != nil {
		return err
	}
	due := live[0].ExpiresAt
	for _, suggestion := range live {
		due = min(due, suggestion.ExpiresAt)
	}
	return s.Tx.SetDeadline(project.Deadline{Kind: ExpiryDeadline, Subject: s.Session.ID, Due: due, Set: s.Now})
}

// NoteShown records which of the suggestions for the caller's session stand in a text
// that its agent gets, the first time that they do.
func NoteShown(s *project.Step, text string) error {
	live, shown, err := shownIn(s, text)
	if err != nil || len(shown) == 0 {
		return err
	}
	if err := recordSuggestions.Save(s.Tx, s.Session.ID, live); err != nil {
		return err
	}
	return changeHistory(s, func(history []core.Suggestion) []core.Suggestion {
		for i, h := range history {
			if h.Outcome == "" && slices.ContainsFunc(shown, h.Same) {
				history[i].ShownAt = s.Now
			}
		}
		return history
	})
}

// shownIn returns the suggestions for the caller's session as they are once a text is
// shown, and those that it shows for the first time.
func shownIn(s *project.Step, text string) (live, shown []core.Suggestion, err error) {
	if !core.HasSuggestions(text) {
		return nil, nil, nil
	}
	if _, err := recordSuggestions.Load(s.Tx, s.Session.ID, &live); err != nil {
		return nil, nil, err
	}
	for i, l := range live {
		if l.ShownAt == 0 && l.In(text) {
			live[i].ShownAt = s.Now
			shown = append(shown, l)
		}
	}
	return live, shown, nil
}

// Expire drops the expired suggestions for a session and counts them as ignored.
func Expire(s *project.Step, session string) error {
	s.Session.ID = session
	live, err := takeLive(s)
	if err != nil {
		return err
	}
	return saveSuggestions(s, live)
}

// ActOn marks the session's suggestion of this type about a frame as acted upon. A push
// made the session's current frame.
func ActOn(s *project.Step, frame string, kind core.SuggestionType) error {
	live, err := liveSuggestions(s)
	if err != nil || len(live) == 0 {
		return err
	}
	if live, err = takeLive(s); err != nil {
		return err
	}
	live, acted, ok := core.ActOn(live, frame, kind, s.Now)
	if !ok {
		return saveSuggestions(s, live)
	}
	if kind == core.SuggestPush {
		acted.Made = s.Session.Current
		if err := recordFollowed.Save(s.Tx, acted.Made, acted); err != nil {
			return err
		}
	}
	if err := errors.Join(saveSuggestions(s, live), settle(s, acted)); err != nil {
		return err
	}
	return s.Emit(core.SuggestionActed, s.Session.Current, map[string]any{"type": kind, "text": acted.Text})
}

// withdraw drops the session's suggestion of this type about a frame, as it no longer
// holds, unless its agent asked for it. One that was shown was ignored until then.
func withdraw(s *project.Step, frame string, kind core.SuggestionType) error {
	live, err := liveSuggestions(s)
	if err != nil || !slices.ContainsFunc(live, func(l core.Suggestion) bool { return l.Frame == frame && l.Type == kind && !l.Asked }) {
		return err
	}
	if live, err = takeLive(s); err != nil {
		return err
	}
	left, gone, _ := core.ActOn(live, frame, kind, s.Now)
	gone.ActedAt = 0
	if gone = gone.End(core.Unseen, s.Now); gone.ShownAt != 0 {
		gone.Outcome = core.Ignored
	}
	return errors.Join(saveSuggestions(s, left), settle(s, gone))
}

// ClearSuggestions empties the queue of the caller's session and returns the number of
// suggestions that were in it.
func ClearSuggestions(ctx context.Context, p *project.Project, by project.Caller) (cleared int, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		live, err := takeLive(s)
		cleared = len(live)
		if err != nil {
			return err
		}
		for i, l := range live {
			live[i] = l.End(core.Dropped, s.Now)
		}
		return errors.Join(saveSuggestions(s, nil), settle(s, live...))
	})
	return cleared, err
}

// Forget drops the suggestions for a session, and what was seen of it.
func Forget(tx project.Tx, session string) error {
	return errors.Join(forgetSuggestions(tx, session), ForgetScene(tx, session))
}

func forgetSuggestions(tx project.Tx, session string) error {
	return errors.Join(recordSuggestions.Delete(tx, session), tx.ClearDeadline(ExpiryDeadline, session))
}

// ForgetScene drops what was seen of a session's conversation.
func ForgetScene(tx project.Tx, session string) error { return recordScene.Delete(tx, session) }
