package view

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
)

// An Overview says what a person decides about a project, and what was decided: what its tree
// alone does not show.
type Overview struct {
	Suggestions []Suggested `json:"suggestions"` // that stand, the newest first
	Decisions   []Decided   `json:"decisions"`   // the newest first
	Totals
}

// A Suggested is a suggestion that its agent has not followed yet.
type Suggested struct {
	Frame      string              `json:"frame"`
	Type       core.SuggestionType `json:"type"`
	Text       string              `json:"text"` // of a push: the goal; of a pop: the status
	Reason     string              `json:"reason"`
	Confidence int                 `json:"confidence"`
	At         core.Millis         `json:"at"`
}

// A Decided is a decision of a frame.
type Decided struct {
	Frame string      `json:"frame"`
	Goal  string      `json:"goal"`
	Text  string      `json:"text"`
	At    core.Millis `json:"at"`
}

// The limits of an Overview.
const (
	maxListed   = 12  // suggestions, and decisions
	maxLooked   = 300 // updates of frames among which it looks for decisions
	maxDecision = 300 // characters of one
)

// OverviewOf returns the overview of the project. Its cost does not grow with the number of frames.
func OverviewOf(ctx context.Context, p *project.Project) (o Overview, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		if o.Suggestions, err = suggested(tx, p.Now()); err != nil {
			return err
		}
		if o.Decisions, err = decided(tx); err != nil {
			return err
		}
		sessions, err := tx.FindSessions(project.SessionQuery{})
		if err != nil {
			return err
		}
		o.Totals, err = totalsOf(p, tx, sessions)
		return err
	})
	return o, err
}

func suggested(tx project.Tx, now core.Millis) ([]Suggested, error) {
	standing, err := autonomy.Standing(tx, now)
	slices.SortStableFunc(standing, func(x, y core.Suggestion) int { return cmp.Compare(y.RefreshedAt, x.RefreshedAt) })
	return lo.Map(standing[:min(len(standing), maxListed)], func(s core.Suggestion, _ int) Suggested {
		text := core.OneLine(cmp.Or(s.Text, string(s.Status)), maxDecision)
		return Suggested{s.Frame, s.Type, text, core.OneLine(s.Reason, maxDecision), s.Confidence, s.RefreshedAt}
	}), err
}

// decided returns the newest decisions among the last updates of frames.
func decided(tx project.Tx) ([]Decided, error) {
	list := []Decided{}
	updates, err := tx.FindEvents(project.EventQuery{Kinds: []string{core.FrameUpdated}, Last: true, Limit: maxLooked})
	if err != nil {
		return list, err
	}
	for _, e := range slices.Backward(updates) {
		var said struct {
			Decision string `json:"decisions"`
		}
		_ = json.Unmarshal(e.Data, &said) // data of another form says nothing here
		if said.Decision == "" {
			continue
		}
		frame, err := tx.Frame(e.Frame)
		if project.IgnoreMissing(err) != nil {
			return list, err
		}
		list = append(list, Decided{e.Frame, core.OneLine(frame.Goal, project.MaxTitle), core.OneLine(said.Decision, maxDecision), e.TS})
		if len(list) == maxListed {
			return list, nil
		}
	}
	return decidedBefore(tx, list)
}

// decidedBefore appends the last decisions of the frames that changed last: no event says when they
// were made, as it was dropped, has many others after it, or was on another machine.
func decidedBefore(tx project.Tx, list []Decided) ([]Decided, error) {
	frames, err := tx.FindFrames(project.FrameQuery{Order: project.RecentFirst, Limit: maxLooked})
	for _, frame := range frames {
		for _, text := range slices.Backward(frame.Decisions) {
			d := Decided{frame.ID, core.OneLine(frame.Goal, project.MaxTitle), core.OneLine(text, maxDecision), 0}
			known := slices.ContainsFunc(list, func(k Decided) bool { return k.Frame == d.Frame && k.Text == d.Text })
			if len(list) < maxListed && !known {
				list = append(list, d)
			}
		}
	}
	return list, err
}
