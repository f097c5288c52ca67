package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"
)

// SuggestionType is the move that a suggestion asks for.
type SuggestionType string

// The types of suggestion.
const (
	SuggestPush SuggestionType = "push"
	SuggestPop  SuggestionType = "pop"
)

const (
	// SuggestionLife is how long a suggestion lives after it was last made or
	// refreshed, in ms (the first description).
	SuggestionLife Millis = 300_000
	// MaxSuggestions is how many suggestions a session has at most.
	MaxSuggestions = 5
)

// newGoal stands for the goal of a suggested push without one.
const newGoal = "the next piece of work"

// A Suggestion is a push or pop that the heuristics recommend. Type, Text and
// Status identify it in its session: suggesting the same again refreshes it.
type Suggestion struct {
	Session     string         `json:"session,omitempty"` // the session it is for
	Frame       string         `json:"frame,omitempty"`   // the frame it was made about
	Type        SuggestionType `json:"type"`
	Text        string         `json:"text,omitempty"`   // of a push: the goal
	Status      Status         `json:"status,omitempty"` // of a pop: the status for the frame
	Reason      string         `json:"reason"`           // the strongest heuristic, in words
	Confidence  int            `json:"confidence"`       // 0..100
	CreatedAt   Millis         `json:"createdAt"`
	RefreshedAt Millis         `json:"refreshedAt"`       // when it was last made
	ExpiresAt   Millis         `json:"expiresAt"`         // last moment it is valid
	ActedAt     Millis         `json:"actedAt,omitempty"` // when the push or pop happened; 0 before
	Done        bool           `json:"done,omitempty"`    // flame did it by itself, at level auto
	Asked       bool           `json:"asked,omitempty"`   // its agent asked for it, so it stands until it is acted on or expires
}

// Suggestion turns an evaluation into a suggestion for a session.
func (e Evaluation) Suggestion(session, frame string, now Millis) Suggestion {
	s := Suggestion{
		Session: session, Frame: frame, Type: e.Type, Text: e.Goal, Status: e.Status, Reason: e.Reason, Confidence: e.Confidence,
		CreatedAt: now, RefreshedAt: now, ExpiresAt: now + SuggestionLife,
	}
	if s.Type == SuggestPush && s.Text == "" {
		s.Text = newGoal
	}
	return s
}

// Same reports whether both suggest the same move to the same session.
func (s Suggestion) Same(other Suggestion) bool {
	return s.Session == other.Session && s.rivals(other) && s.Text == other.Text && s.Status == other.Status
}

// rivals reports whether both have the same type and frame: only one of them can stand .
func (s Suggestion) rivals(other Suggestion) bool {
	return s.Frame == other.Frame && s.Type == other.Type
}

// AddSuggestion returns a session's list with s, made at time now. It refreshes a live suggestion of
// the same move in place, and replaces one of the same type about the same frame. Beyond
// MaxSuggestions it drops the weakest, the oldest on a tie. added is false if it refreshed one.
func AddSuggestion(list []Suggestion, s Suggestion, now Millis) (kept []Suggestion, added bool) {
	kept = slices.Clone(list)
	s.RefreshedAt, s.ExpiresAt, s.ActedAt = now, now+SuggestionLife, 0
	if i := slices.IndexFunc(kept, s.Same); i >= 0 {
		s.CreatedAt = kept[i].CreatedAt
		kept[i] = s
		return kept, false
	}
	s.CreatedAt = now
	kept = append(slices.DeleteFunc(kept, s.rivals), s)
	if len(kept) > MaxSuggestions {
		kept = slices.DeleteFunc(kept, slices.MinFunc(kept, weaker).Same)
	}
	return kept, true
}

// weaker orders suggestions by confidence, and equal ones by age, the oldest first.
func weaker(a, b Suggestion) int {
	return cmp.Or(cmp.Compare(a.Confidence, b.Confidence), cmp.Compare(a.RefreshedAt, b.RefreshedAt))
}

// Live reports whether the suggestion holds at time now. One from the future has expired too: the
// clock was set back, so its age is unknown.
func (s Suggestion) Live(now Millis) bool {
	return now <= s.ExpiresAt && now >= s.RefreshedAt-SuggestionLife
}

// ActOn removes the suggestion of a type about a frame from a session's list, because
// the move it asked for happened at time now. ok is false if there is none.
func ActOn(list []Suggestion, frame string, kind SuggestionType, now Millis) (left []Suggestion, acted Suggestion, ok bool) {
	i := slices.IndexFunc(list, Suggestion{Frame: frame, Type: kind}.rivals)
	if i < 0 {
		return list, Suggestion{}, false
	}
	acted = list[i]
	acted.ActedAt = now
	return slices.Delete(slices.Clone(list), i, i+1), acted, true
}

// Limits of a suggestion's line, in characters.
const (
	suggestionText   = 120
	suggestionReason = 60
)

// suggestionHeader begins the suggestions after a context (the first description).
const suggestionHeader = "<!-- Flame Autonomy Suggestions -->"

// FormatSuggestions returns the suggestions as they appear in a context: a
// header and one line each, in the first description's bracket format, or "" if there are
// none. Text from frames cannot end its line or the quotes around it.
func FormatSuggestions(list []Suggestion) string {
	if len(list) == 0 {
		return ""
	}
	return suggestionHeader + strings.Join(lo.Map(list, func(s Suggestion, _ int) string { return "\n" + s.line() }), "")
}

func (s Suggestion) line() string {
	what := "pushing a new frame for"
	object := s.Text
	if s.Type == SuggestPop {
		what, object = "popping the current frame as", string(s.Status)
	}
	return fmt.Sprintf("[FLAME SUGGESTION: Consider %s \"%s\" - Reason: %s (%d%% confidence)]",
		what, quotable(object, suggestionText), quotable(s.Reason, suggestionReason), s.Confidence)
}

var brackets = strings.NewReplacer("[", "(", "]", ")")

// quotable makes s safe between the quotes and brackets of a suggestion.
func quotable(s string, max int) string { return brackets.Replace(EscapeXML(OneLine(s, max))) }

// AutonomyStats counts suggestions and their outcomes since LastReset.
type AutonomyStats struct {
	TotalSuggestions int    `json:"totalSuggestions"` // without refreshed ones
	PushSuggestions  int    `json:"pushSuggestions"`
	PopSuggestions   int    `json:"popSuggestions"`
	ActedUpon        int    `json:"actedUpon"`
	Ignored          int    `json:"ignored"` // expired, or no longer valid
	AutoPushes       int    `json:"autoPushes"`
	AutoPops         int    `json:"autoPops"`
	LastReset        Millis `json:"lastReset"`
}
