package project

import (
	"context"
	"errors"
	"slices"

	"flame/core"
)

const (
	recordSuggestions Kind[[]core.Suggestion] = "suggestions"        // by session: its live ones
	recordHistory     Kind[[]core.Suggestion] = "suggestion_history" // of the project, oldest first

	deadlineSuggestion = "suggestion" // by session: its next suggestion expires
)

// maxHistory bounds the kept history of suggestions (spec: autonomy §5).
const maxHistory = 100

// suggest puts what advice recommends before the caller's session, or refreshes
// it there.
func (s *step) suggest(advice *Advice) error {
	if !advice.Recommended || advice.Level == core.AutonomyManual {
		return nil
	}
	advice.Queued = true
	live, err := s.liveSuggestions()
	if err != nil {
		return err
	}
	suggestion := advice.Suggestion(s.session.ID, s.now)
	live, added := core.AddSuggestion(live, suggestion, s.now)
	if err := s.saveSuggestions(live); err != nil || !added {
		return err
	}
	if err := s.remember(suggestion); err != nil {
		return err
	}
	err = s.countAutonomy(func(c *core.AutonomyStats) {
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
	return s.emit(core.SuggestionMade, s.session.Current, map[string]any{
		"type": suggestion.Type, "text": suggestion.Text, "status": suggestion.Status, "confidence": suggestion.Confidence,
	})
}

// liveSuggestions returns those of the caller's session that have not expired.
func (s *step) liveSuggestions() ([]core.Suggestion, error) {
	var all []core.Suggestion
	if _, err := recordSuggestions.Load(s, s.session.ID, &all); err != nil {
		return nil, err
	}
	live, _ := core.ExpireSuggestions(all, s.now)
	return live, nil
}

// injectable returns the suggestions that belong into the caller's context.
func (s *step) injectable() ([]core.Suggestion, error) {
	config, err := s.autonomyConfig()
	if err != nil || !config.SuggestInContext || config.Level == core.AutonomyManual {
		return nil, err
	}
	return s.liveSuggestions()
}

func (s *step) saveSuggestions(live []core.Suggestion) error {
	if len(live) == 0 {
		if err := recordSuggestions.Delete(s, s.session.ID); err != nil {
			return err
		}
		return s.ClearDeadline(deadlineSuggestion, s.session.ID)
	}
	if err := recordSuggestions.Save(s, s.session.ID, live); err != nil {
		return err
	}
	due := live[0].ExpiresAt
	for _, suggestion := range live {
		due = min(due, suggestion.ExpiresAt)
	}
	return s.SetDeadline(Deadline{Kind: deadlineSuggestion, Subject: s.session.ID, Due: due, Set: s.now})
}

// suggestionsElapsed drops what has expired; what nobody acted upon counts as
// ignored.
func (s *step) suggestionsElapsed(session string) error {
	s.session.ID = session
	var all []core.Suggestion
	if _, err := recordSuggestions.Load(s, session, &all); err != nil {
		return err
	}
	live, expired := core.ExpireSuggestions(all, s.now)
	if err := s.saveSuggestions(live); err != nil {
		return err
	}
	return s.countAutonomy(func(c *core.AutonomyStats) { c.Ignored += len(expired) })
}

// actOn marks the session's oldest suggestion of this type as acted upon.
func (s *step) actOn(kind core.SuggestionType) error {
	live, err := s.liveSuggestions()
	if err != nil || len(live) == 0 {
		return err
	}
	live, acted, ok := core.ActOn(live, kind, s.now)
	if !ok {
		return nil
	}
	if err := s.saveSuggestions(live); err != nil {
		return err
	}
	if err := s.rememberActed(acted); err != nil {
		return err
	}
	if err := s.countAutonomy(func(c *core.AutonomyStats) { c.ActedUpon++ }); err != nil {
		return err
	}
	return s.emit(core.SuggestionActed, s.session.Current, map[string]any{"type": kind, "text": acted.Text})
}

// remember adds a suggestion to the project's history, of which the last half
// is kept when it is full.
func (s *step) remember(suggestion core.Suggestion) error {
	history, err := s.suggestionHistory()
	if err != nil {
		return err
	}
	history = append(history, suggestion)
	if len(history) > maxHistory {
		history = history[len(history)-maxHistory/2:]
	}
	return recordHistory.Save(s, "", history)
}

func (s *step) rememberActed(acted core.Suggestion) error {
	history, err := s.suggestionHistory()
	if err != nil {
		return err
	}
	for i, h := range slices.Backward(history) {
		if h.Session == acted.Session && h.Type == acted.Type && h.Text == acted.Text && h.Status == acted.Status {
			history[i].ActedAt = s.now
			break
		}
	}
	return recordHistory.Save(s, "", history)
}

func (s *step) suggestionHistory() (history []core.Suggestion, err error) {
	_, err = recordHistory.Load(s, "", &history)
	return history, err
}

// ClearSuggestions empties the queue of the caller's session and returns the
// number that were in it.
func (p *Project) ClearSuggestions(ctx context.Context, by Caller) (cleared int, err error) {
	err = p.update(ctx, by, func(s *step) error {
		live, err := s.liveSuggestions()
		cleared = len(live)
		if err != nil {
			return err
		}
		return s.saveSuggestions(nil)
	})
	return cleared, err
}

// forgetSuggestions drops those of a session.
func forgetSuggestions(tx Tx, session string) error {
	return errors.Join(recordSuggestions.Delete(tx, session), tx.ClearDeadline(deadlineSuggestion, session))
}
