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
	recordSuggestions project.Kind[[]core.Suggestion] = "suggestions"        // by session: its live ones
	recordHistory     project.Kind[[]core.Suggestion] = "suggestion_history" // of the project, oldest first

	// ExpiryDeadline, by session, is the kind of deadline at which its next suggestion
	// expires.
	ExpiryDeadline = "suggestion"
)

// maxHistory limits the history of suggestions (spec: autonomy §5).
const maxHistory = 100

// Suggest queues what advice recommends as a suggestion for the caller's session, or
// refreshes the one that is there.
func Suggest(s *project.Step, advice *Advice) error {
	if !advice.Recommended || advice.Level == core.AutonomyManual {
		return nil
	}
	advice.Queued = true
	live, err := liveSuggestions(s)
	if err != nil {
		return err
	}
	suggestion := advice.Suggestion(s.Session.ID, advice.Frame.ID, s.Now)
	live, added := core.AddSuggestion(live, suggestion, s.Now)
	if err := saveSuggestions(s, live); err != nil || !added {
		return err
	}
	if err := remember(s, suggestion); err != nil {
		return err
	}
	err = UpdateStats(s, func(c *core.AutonomyStats) {
		c.TotalSuggestions++
		if suggestion.Type == core.SuggestPush {
			c.PushSuggestions++
		} else {
			c.PopSuggestions++
		}
	})
	if err != nil {
		return err
	}
	return s.Emit(core.SuggestionMade, advice.Frame.ID, map[string]any{
		"type": suggestion.Type, "text": suggestion.Text, "status": suggestion.Status, "confidence": suggestion.Confidence,
	})
}

// liveSuggestions returns the suggestions for the caller's session that have not expired.
func liveSuggestions(s *project.Step) ([]core.Suggestion, error) {
	var all []core.Suggestion
	if _, err := recordSuggestions.Load(s.Tx, s.Session.ID, &all); err != nil {
		return nil, err
	}
	live, _ := core.ExpireSuggestions(all, s.Now)
	return live, nil
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

// Expire drops the expired suggestions for a session and counts them as ignored.
func Expire(s *project.Step, session string) error {
	s.Session.ID = session
	var all []core.Suggestion
	if _, err := recordSuggestions.Load(s.Tx, session, &all); err != nil {
		return err
	}
	live, expired := core.ExpireSuggestions(all, s.Now)
	if err := saveSuggestions(s, live); err != nil {
		return err
	}
	return UpdateStats(s, func(c *core.AutonomyStats) { c.Ignored += len(expired) })
}

// ActOn marks the session's suggestion of this type about a frame as acted upon.
func ActOn(s *project.Step, frame string, kind core.SuggestionType) error {
	live, err := liveSuggestions(s)
	if err != nil || len(live) == 0 {
		return err
	}
	live, acted, ok := core.ActOn(live, frame, kind, s.Now)
	if !ok {
		return nil
	}
	if err := saveSuggestions(s, live); err != nil {
		return err
	}
	if err := rememberActed(s, acted); err != nil {
		return err
	}
	if err := UpdateStats(s, func(c *core.AutonomyStats) { c.ActedUpon++ }); err != nil {
		return err
	}
	return s.Emit(core.SuggestionActed, s.Session.Current, map[string]any{"type": kind, "text": acted.Text})
}

// remember adds a suggestion to the project's history. When that is full, it keeps the
// newer half.
func remember(s *project.Step, suggestion core.Suggestion) error {
	history, err := suggestionHistory(s)
	if err != nil {
		return err
	}
	history = append(history, suggestion)
	if len(history) > maxHistory {
		history = history[len(history)-maxHistory/2:]
	}
	return recordHistory.Save(s.Tx, "", history)
}

func rememberActed(s *project.Step, acted core.Suggestion) error {
	history, err := suggestionHistory(s)
	if err != nil {
		return err
	}
	for i, h := range slices.Backward(history) {
		if h.Session == acted.Session && h.Frame == acted.Frame && h.Type == acted.Type && h.Text == acted.Text && h.Status == acted.Status {
			history[i].ActedAt = s.Now
			break
		}
	}
	return recordHistory.Save(s.Tx, "", history)
}

func suggestionHistory(s *project.Step) (history []core.Suggestion, err error) {
	_, err = recordHistory.Load(s.Tx, "", &history)
	return history, err
}

// ClearSuggestions empties the queue of the caller's session and returns the number of
// suggestions that were in it.
func ClearSuggestions(ctx context.Context, p *project.Project, by project.Caller) (cleared int, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		live, err := liveSuggestions(s)
		cleared = len(live)
		if err != nil {
			return err
		}
		return saveSuggestions(s, nil)
	})
	return cleared, err
}

// Forget drops the suggestions for a session.
func Forget(tx project.Tx, session string) error {
	return errors.Join(recordSuggestions.Delete(tx, session), tx.ClearDeadline(ExpiryDeadline, session))
}
