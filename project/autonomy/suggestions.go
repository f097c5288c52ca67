package autonomy

import (
	"context"
	"errors"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

const (
	recordSuggestions project.RecordKind[[]core.Suggestion] = "session.suggestions" // by session: its live ones

	// ExpiryDeadline, by session, is the kind of deadline at which its next suggestion
	// expires.
	ExpiryDeadline = "suggestion"
)

// liveSuggestions returns the suggestions for the caller's session that have not expired.
func liveSuggestions(s *project.Op) ([]core.Suggestion, error) {
	all, err := recordSuggestions.Find(s.Tx, s.Session.ID)
	return live(all, s.Now), err
}

func live(all []core.Suggestion, now core.Millis) []core.Suggestion {
	return lo.Filter(all, func(l core.Suggestion, _ int) bool { return l.Live(now) })
}

// takeLive is liveSuggestions for a caller that saves them afterwards: it counts the others
// as ignored.
func takeLive(s *project.Op) ([]core.Suggestion, error) {
	all, err := recordSuggestions.Find(s.Tx, s.Session.ID)
	left := live(all, s.Now)
	if expired := len(all) - len(left); err == nil && expired > 0 {
		err = count(s, func(c *core.AutonomyStats) { c.Ignored += expired })
	}
	return left, err
}

// amend removes suggestions for the caller's session, if there are any: change returns those
// that stay.
func amend(s *project.Op, change func(live []core.Suggestion) (left []core.Suggestion)) error {
	if all, err := recordSuggestions.Find(s.Tx, s.Session.ID); err != nil || len(all) == 0 {
		return err
	}
	live, err := takeLive(s)
	if err != nil {
		return err
	}
	return saveSuggestions(s, change(live))
}

// ContextSuggestions returns the suggestions that belong in the caller's context: those about
// the frame it works in.
func ContextSuggestions(s *project.Op) ([]core.Suggestion, error) {
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

func saveSuggestions(s *project.Op, live []core.Suggestion) error {
	if len(live) == 0 {
		return errors.Join(recordSuggestions.Delete(s.Tx, s.Session.ID), s.Tx.ClearDeadline(ExpiryDeadline, s.Session.ID))
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

// Expire drops the expired suggestions for a session and counts them as ignored.
func Expire(s *project.Op, session string) error {
	s.Session.ID = session
	return amend(s, func(live []core.Suggestion) []core.Suggestion { return live })
}

// ActOn marks the session's suggestion of this type about a frame as acted upon. For a push,
// the session's current frame is the new one.
func ActOn(s *project.Op, frame string, kind core.SuggestionType) error {
	acted, ok, err := take(s, frame, kind)
	if err != nil || !ok {
		return err
	}
	return errors.Join(
		remember(s, acted), count(s, func(c *core.AutonomyStats) { c.ActedUpon++ }),
		s.Emit(core.SuggestionActed, s.Session.Current, map[string]any{"type": kind, "text": acted.Text}),
	)
}

// take removes the session's suggestion of this type about a frame.
func take(s *project.Op, frame string, kind core.SuggestionType) (taken core.Suggestion, ok bool, err error) {
	err = amend(s, func(live []core.Suggestion) (left []core.Suggestion) {
		left, taken, ok = core.ActOn(live, frame, kind, s.Now)
		return left
	})
	return taken, ok, err
}

// withdraw drops the session's suggestion of this type about a frame, because it is no longer
// valid, unless the agent asked for it. It counts as ignored.
func withdraw(s *project.Op, frame string, kind core.SuggestionType) error {
	gone := false
	err := amend(s, func(live []core.Suggestion) []core.Suggestion {
		left, taken, ok := core.ActOn(live, frame, kind, s.Now)
		if gone = ok && !taken.Asked; gone {
			return left
		}
		return live
	})
	if gone && err == nil {
		err = count(s, func(c *core.AutonomyStats) { c.Ignored++ })
	}
	return err
}

// ClearSuggestions empties the queue of the caller's session and returns how many suggestions
// were in it.
func ClearSuggestions(ctx context.Context, p *project.Project, by project.Caller) (cleared int, err error) {
	err = p.Update(ctx, by, func(s *project.Op) error {
		cleared = 0
		return amend(s, func(live []core.Suggestion) []core.Suggestion {
			cleared = len(live)
			return nil
		})
	})
	return cleared, err
}

// Forget drops the suggestions for a session, and its SessionActivity.
func Forget(tx project.Tx, session string) error {
	return errors.Join(forgetSuggestions(tx, session), ForgetScene(tx, session))
}

func forgetSuggestions(tx project.Tx, session string) error {
	return errors.Join(recordSuggestions.Delete(tx, session), tx.ClearDeadline(ExpiryDeadline, session))
}

// ForgetScene drops the SessionActivity of a session.
func ForgetScene(tx project.Tx, session string) error { return recordScene.Delete(tx, session) }
