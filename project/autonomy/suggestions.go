package autonomy

import (
	"context"
	"errors"

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
	all, err := recordSuggestions.Of(s.Tx, s.Session.ID)
	live, _ := core.ExpireSuggestions(all, s.Now)
	return live, err
}

// takeLive is liveSuggestions for a caller that saves them afterwards: it records the
// outcomes of the others.
func takeLive(s *project.Step) ([]core.Suggestion, error) {
	all, err := recordSuggestions.Of(s.Tx, s.Session.ID)
	if err != nil {
		return nil, err
	}
	live, expired := core.ExpireSuggestions(all, s.Now)
	return live, settle(s, expired...)
}

// amend removes suggestions for the caller's session, if there are any: end returns those
// that stay, and the removed ones with their outcomes.
func amend(s *project.Step, end func(live []core.Suggestion) (left, ended []core.Suggestion)) error {
	if all, err := recordSuggestions.Of(s.Tx, s.Session.ID); err != nil || len(all) == 0 {
		return err
	}
	live, err := takeLive(s)
	if err != nil {
		return err
	}
	left, ended := end(live)
	return errors.Join(saveSuggestions(s, left), settle(s, ended...))
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

// Standing returns the suggestions for all sessions that have not expired.
func Standing(tx project.Tx, now core.Millis) (standing []core.Suggestion, err error) {
	err = recordSuggestions.Each(tx, func(_ string, all []core.Suggestion) error {
		live, _ := core.ExpireSuggestions(all, now)
		standing = append(standing, live...)
		return nil
	})
	return standing, err
}

// About returns the suggestions in list that are about a frame.
func About(list []core.Suggestion, frame string) []core.Suggestion {
	return lo.Filter(list, func(l core.Suggestion, _ int) bool { return frame != "" && l.Frame == frame })
}

func saveSuggestions(s *project.Step, live []core.Suggestion) error {
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

// NoteShown records which suggestions for the caller's session its agent sees in a text for
// the first time.
func NoteShown(s *project.Step, text string) error {
	live, shown, err := shownIn(s, text)
	if err != nil || len(shown) == 0 {
		return err
	}
	if err := recordSuggestions.Save(s.Tx, s.Session.ID, live); err != nil {
		return err
	}
	for _, one := range shown {
		if err := rewrite(s, stands(one), func(h *core.Suggestion) { h.ShownAt = s.Now }); err != nil {
			return err
		}
	}
	return nil
}

// shownIn returns the suggestions for the caller's session, marked as shown if text contains
// them, and those that text shows for the first time.
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
	return amend(s, func(live []core.Suggestion) (left, ended []core.Suggestion) { return live, nil })
}

// ActOn marks the session's suggestion of this type about a frame as acted upon. For a push,
// the session's current frame is the new one.
func ActOn(s *project.Step, frame string, kind core.SuggestionType) error {
	var acted core.Suggestion
	err := amend(s, func(live []core.Suggestion) (left, ended []core.Suggestion) {
		left, suggested, ok := core.ActOn(live, frame, kind, s.Now)
		if !ok {
			return live, nil
		}
		if acted = suggested; kind == core.SuggestPush {
			acted.Made = s.Session.Current
		}
		return left, []core.Suggestion{acted}
	})
	if acted.Type == "" || err != nil {
		return err
	}
	if acted.Made != "" {
		if err := recordFollowed.Save(s.Tx, acted.Made, acted); err != nil {
			return err
		}
	}
	return s.Emit(core.SuggestionActed, s.Session.Current, map[string]any{"type": kind, "text": acted.Text})
}

// withdraw drops the session's suggestion of this type about a frame, because it is no longer
// valid, unless the agent asked for it. A suggestion that the agent saw counts as ignored.
func withdraw(s *project.Step, frame string, kind core.SuggestionType) error {
	return amend(s, func(live []core.Suggestion) (left, ended []core.Suggestion) {
		left, gone, ok := core.ActOn(live, frame, kind, s.Now)
		if !ok || gone.Asked {
			return live, nil
		}
		gone.ActedAt = 0
		if gone = gone.End(core.Unseen, s.Now); gone.ShownAt != 0 {
			gone.Outcome = core.Ignored
		}
		return left, []core.Suggestion{gone}
	})
}

// ClearSuggestions empties the queue of the caller's session and returns how many suggestions
// were in it.
func ClearSuggestions(ctx context.Context, p *project.Project, by project.Caller) (cleared int, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		cleared = 0
		return amend(s, func(live []core.Suggestion) (left, ended []core.Suggestion) {
			cleared = len(live)
			return nil, lo.Map(live, func(l core.Suggestion, _ int) core.Suggestion { return l.End(core.Dropped, s.Now) })
		})
	})
	return cleared, err
}

// Forget drops the suggestions for a session, and its Scene.
func Forget(tx project.Tx, session string) error {
	return errors.Join(forgetSuggestions(tx, session), ForgetScene(tx, session))
}

func forgetSuggestions(tx project.Tx, session string) error {
	return errors.Join(recordSuggestions.Delete(tx, session), tx.ClearDeadline(ExpiryDeadline, session))
}

// ForgetScene drops the Scene of a session.
func ForgetScene(tx project.Tx, session string) error { return recordScene.Delete(tx, session) }
