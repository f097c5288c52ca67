package view

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/usage"
)

// A Today says how a project stands: what a person who comes back to it asks first.
type Today struct {
	Since   core.Millis         `json:"since"` // the beginning of yesterday
	Counts  map[core.Status]int `json:"counts"`
	Open    []Way               `json:"open"`    // of the sessions that have not ended, the latest first
	Left    []core.Frame        `json:"left"`    // in progress, but none of these sessions works there or below, the latest first
	Blocked []core.Frame        `json:"blocked"` // below nothing that has ended, the latest first
	Done    []core.Frame        `json:"done"`    // ended since then, the latest first
	Decided []Decided           `json:"decided"` // since then, the latest first
	Used    core.Usage          `json:"used"`    // by the sessions that were heard of since then, in all
	Spared  int64               `json:"spared"`  // bytes that a gateway did not forward, in all
	Given   int64               `json:"given"`   // bytes that hosts sent to one, in all
	Off     bool                `json:"off,omitempty"`
}

// A Way is where a session works.
type Way struct {
	Session string      `json:"session"`
	Host    string      `json:"host"`
	Works   bool        `json:"works"` // false: it waits for a person
	Heard   core.Millis `json:"heard"`
	Frames  []Step      `json:"frames"` // from the root down
}

// A Step is a frame on a Way.
type Step struct {
	ID   string `json:"id"`
	Goal string `json:"goal"`
}

// maxToday bounds each list of a Today.
const maxToday = 8

// TodayOf returns how the project stands at the time of its clock. Its cost does not grow with the
// number of frames.
func TodayOf(ctx context.Context, p *project.Project) (t Today, err error) {
	day := p.Now().Time().Local().AddDate(0, 0, -1)
	t.Open, t.Left, t.Blocked, t.Done, t.Decided = []Way{}, []core.Frame{}, []core.Frame{}, []core.Frame{}, []Decided{}
	t.Since = core.MillisOf(time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, day.Location()))
	err = p.View(ctx, project.Caller{}, func(s *project.Step) (err error) {
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
func (t *Today) addSessions(s *project.Step) error {
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
		way, err := wayOf(s.Tx, session)
		if err != nil {
			return err
		}
		t.Open = append(t.Open, way)
	}
	metered, err := usage.ByClass(s.Tx)
	sum := usage.Sum(metered)
	t.Spared, t.Given = sum.Spared(), sum.Given
	return err
}

// wayOf returns where a session works.
func wayOf(tx project.Tx, session core.Session) (Way, error) {
	way := Way{Session: session.ID, Host: session.Host, Works: session.State == core.SessionActive, Heard: session.LastActivityAt}
	frame, err := tx.Frame(session.Current)
	if err != nil {
		return way, project.IgnoreMissing(err)
	}
	above, err := tx.Ancestors(frame.ID, maxLevels)
	for _, f := range slices.Backward(append([]core.Frame{frame}, above...)) {
		way.Frames = append(way.Frames, Step{f.ID, core.OneLine(f.Goal, project.MaxTitle)})
	}
	return way, err
}

// maxLevels bounds the frames of a Way.
const maxLevels = 5

// addLeft adds the frames in which work began and nobody goes on.
func (t *Today) addLeft(tx project.Tx) error {
	open, err := tx.FindFrames(project.FrameQuery{Statuses: []core.Status{core.InProgress}, Order: project.RecentFirst, Limit: maxLooked})
	above := map[string]bool{}
	for _, way := range t.Open {
		for _, f := range way.Frames {
			above[f.ID] = true
		}
	}
	for _, f := range open {
		above[f.Parent] = true
	}
	left := lo.Filter(open, func(f core.Frame, _ int) bool { return !above[f.ID] && !f.Foreign() })
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
	return nil
}
