package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/usage"
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
	standing, err := autonomy.ActiveSuggestions(tx, now)
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

// A Today says how a project stands: what a person who comes back to it asks first.
type Today struct {
	Since   core.Millis         `json:"since"` // the beginning of yesterday
	Counts  map[core.Status]int `json:"counts"`
	Open    []OpenSession       `json:"open"`    // the latest first
	Left    []core.Frame        `json:"left"`    // in progress, but none of these sessions works there or below, the latest first
	Blocked []core.Frame        `json:"blocked"` // below nothing that has ended, the latest first
	Done    []core.Frame        `json:"done"`    // ended since then, the latest first
	Decided []Decided           `json:"decided"` // since then, the latest first
	Used    core.Usage          `json:"used"`    // by the sessions that were heard of since then, in all
	Spared  int64               `json:"spared"`  // bytes that a gateway did not forward, in all
	Given   int64               `json:"given"`   // bytes that hosts sent to one, in all
	Off     bool                `json:"off,omitempty"`
}

// An OpenSession is a session that has not ended, and where it works.
type OpenSession struct {
	ID      string      `json:"id"`
	Host    string      `json:"host"`
	Working bool        `json:"working"` // false: it waits for a person
	Heard   core.Millis `json:"heard"`
	Frame   string      `json:"frame"` // id
	Goals   []string    `json:"goals"` // of the frame and those above it, from the root down
}

// maxToday bounds each list of a Today.
const maxToday = 8

// TodayOf returns how the project stands at the time of its clock. With more frames it only takes longer
// to count them.
func TodayOf(ctx context.Context, p *project.Project) (t Today, err error) {
	day := p.Now().Time().Local().AddDate(0, 0, -1)
	t.Open, t.Left, t.Blocked, t.Done, t.Decided = []OpenSession{}, []core.Frame{}, []core.Frame{}, []core.Frame{}, []Decided{}
	t.Since = core.MillisOf(time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, day.Location()))
	err = p.View(ctx, project.Caller{}, func(s *project.Op) (err error) {
		if t.Off, err = s.Off(); err != nil {
			return err
		}
		if t.Counts, err = s.Tx.CountFrames(project.FrameQuery{}); err != nil {
			return err
		}
		if err := t.addSessions(s); err != nil {
			return err
		}
		if err := errors.Join(t.addLeft(s.Tx), t.addEnded(s.Tx)); err != nil {
			return err
		}
		made, err := decided(s.Tx)
		t.Decided = lo.Filter(made, func(d Decided, _ int) bool { return d.At >= t.Since })
		t.Decided = t.Decided[:min(len(t.Decided), maxToday)]
		return err
	})
	return t, err
}

// addSessions adds the sessions of people, and what they used.
func (t *Today) addSessions(s *project.Op) error {
	sessions, err := s.Tx.FindSessions(project.SessionQuery{})
	if err != nil {
		return err
	}
	for _, session := range sessions {
		if session.Parent != "" || session.LastActivityAt < t.Since {
			continue
		}
		used, err := usage.Spent(s.Tx, session.ID)
		if err != nil {
			return err
		}
		t.Used = t.Used.Add(used)
		if !isPersons(session) || session.State == core.SessionEnded || session.Current == "" || len(t.Open) == maxToday {
			continue
		}
		open, err := openSession(s.Tx, session)
		if err != nil {
			return err
		}
		t.Open = append(t.Open, open)
	}
	metered, err := usage.ByClass(s.Tx)
	sum := usage.Sum(metered)
	t.Spared, t.Given = sum.BytesSaved(), sum.BytesReceived
	return err
}

// maxGoals bounds the goals above the one of an OpenSession.
const maxGoals = 5

func openSession(tx project.Tx, session core.Session) (OpenSession, error) {
	open := OpenSession{
		ID: session.ID, Host: session.Host, Working: session.State == core.SessionActive, Heard: session.LastActivityAt, Frame: session.Current,
	}
	frame, err := tx.Frame(session.Current)
	if err != nil {
		return open, project.IgnoreMissing(err)
	}
	above, err := tx.Ancestors(frame.ID, maxGoals)
	for _, f := range slices.Backward(append([]core.Frame{frame}, above...)) {
		open.Goals = append(open.Goals, core.OneLine(f.Goal, project.MaxTitle))
	}
	return open, err
}

// addLeft adds the lowest frames in progress in which no open session works.
func (t *Today) addLeft(tx project.Tx) error {
	open, err := tx.FindFrames(project.FrameQuery{Statuses: []core.Status{core.InProgress}, Order: project.RecentFirst, Limit: maxLooked})
	parents := lo.SliceToMap(open, func(f core.Frame) (string, bool) { return f.Parent, true })
	worked := lo.SliceToMap(t.Open, func(s OpenSession) (string, bool) { return s.Frame, true })
	left := lo.Filter(open, func(f core.Frame, _ int) bool { return !parents[f.ID] && !worked[f.ID] && !f.IsRemote() })
	t.Left = append(t.Left, left[:min(len(left), maxToday)]...)
	return err
}

// addEnded adds blocked frames, and those that ended.
func (t *Today) addEnded(tx project.Tx) error {
	ended, err := tx.FindFrames(project.FrameQuery{
		Statuses: []core.Status{core.Completed, core.Failed, core.Blocked}, Order: project.RecentFirst, Limit: maxLooked,
	})
	if err != nil {
		return err
	}
	for _, f := range ended {
		if f.Status != core.Blocked {
			if f.EndedAt >= t.Since && len(t.Done) < maxToday {
				t.Done = append(t.Done, f)
			}
			continue
		}
		above, err := tx.Ancestors(f.ID, 0)
		if err != nil {
			return err
		}
		if len(t.Blocked) < maxToday && !slices.ContainsFunc(above, func(up core.Frame) bool { return up.Status.Ended() }) {
			t.Blocked = append(t.Blocked, f)
		}
	}
	slices.SortStableFunc(t.Done, func(x, y core.Frame) int { return cmp.Compare(y.EndedAt, x.EndedAt) })
	// The root of a session ends with the outcome of its last turn, which is listed once.
	t.Done = lo.Reject(t.Done, func(f core.Frame, _ int) bool {
		return f.Summary != "" && slices.ContainsFunc(t.Done, func(below core.Frame) bool { return below.Parent == f.ID && below.Summary == f.Summary })
	})
	return nil
}
