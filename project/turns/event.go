package turns

import (
	"context"
	"errors"

	"flame/core"
	"flame/project"
	"flame/project/sweep"
)

// A Mark tells an event from all others, so that it is handled once however often it
// comes. The events of a source are numbered in the order in which they come.
type Mark struct {
	Source string
	N      int64
}

// recordTaken, by source, is the number of its last event that is known to be handled.
const recordTaken project.Kind[Taken] = "taken"

// Taken says how far the events of a source were taken in.
type Taken struct {
	N  int64       `json:"n"`  // of the last event that changed something, or that SaveTaken told of
	At core.Millis `json:"at"` // when that was
}

// TakenFrom returns how far the events of a source were taken in.
func TakenFrom(ctx context.Context, p *project.Project, source string) (t Taken, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		_, err = recordTaken.Load(tx, source, &t)
		return err
	})
	return t, err
}

// SaveTaken records that the events of a source were handled up to one.
func SaveTaken(ctx context.Context, p *project.Project, upTo Mark) error {
	return p.Store.Run(ctx, func(tx project.Tx) error {
		var t Taken
		if _, err := recordTaken.Load(tx, upTo.Source, &t); err != nil || upTo.N <= t.N {
			return err
		}
		return recordTaken.Save(tx, upTo.Source, Taken{N: upTo.N, At: p.Now()})
	})
}

// ForgetSource forgets a source that sends no more events.
func ForgetSource(ctx context.Context, p *project.Project, source string) error {
	return p.Store.Run(ctx, func(tx project.Tx) error {
		var t Taken
		known, err := recordTaken.Load(tx, source, &t)
		if err != nil || !known {
			return err
		}
		return recordTaken.Delete(tx, source)
	})
}

// ForgetSources forgets the sources that sent nothing for a day.
func ForgetSources(ctx context.Context, p *project.Project) error {
	return p.Store.Run(ctx, func(tx project.Tx) error {
		var gone []string
		err := recordTaken.Each(tx, func(id string, t Taken) error {
			if p.Now()-t.At > project.Day {
				gone = append(gone, id)
			}
			return nil
		})
		for _, id := range gone {
			err = errors.Join(err, recordTaken.Delete(tx, id))
		}
		return err
	})
}

var errDue = errors.New("turns: something is due first")

// OnEvent is Together for an f that handles an event of a host. It does nothing if hooks
// are off for the project or the event was handled before, and first does the work that
// is due.
func OnEvent(ctx context.Context, p *project.Project, marks []Mark, f func(*project.Project) error) error {
	return onEvent(ctx, p, marks, sweep.Due, f)
}

// OnStart is OnEvent for an event with which a session starts. It first ends the sessions
// that have ended without a word, too: that takes longer than most events may, and the
// new session is to be offered what they left.
func OnStart(ctx context.Context, p *project.Project, marks []Mark, f func(*project.Project) error) error {
	return onEvent(ctx, p, marks, sweep.DueAndOver, f)
}

// A search finds work that is due.
type search func(context.Context, *project.Project) (sweep.Work, error)

func onEvent(ctx context.Context, p *project.Project, marks []Mark, due search, f func(*project.Project) error) error {
	var work sweep.Work
	err := handleOnce(ctx, p, marks, f, func(p *project.Project) (err error) {
		if work, err = due(ctx, p); err == nil && !work.Empty() {
			err = errDue
		}
		return err
	})
	if errors.Is(err, errDue) {
		work.Do(ctx, p)
		err = handleOnce(ctx, p, marks, f, func(*project.Project) error { return nil })
	}
	return err
}

// handleOnce handles an event that was not handled before, once first allows it.
func handleOnce(ctx context.Context, p *project.Project, marks []Mark, f, first func(*project.Project) error) error {
	return p.Together(ctx, func(p *project.Project) error {
		if off, err := p.Off(ctx); off || err != nil {
			return err
		}
		if err := first(p); err != nil {
			return err
		}
		for _, mark := range marks {
			if taken, err := TakenFrom(ctx, p, mark.Source); err != nil || mark.N <= taken.N {
				return err
			}
		}
		if err := f(p); err != nil || !p.Changed() {
			return err
		}
		for _, mark := range marks {
			if err := SaveTaken(ctx, p, mark); err != nil {
				return err
			}
		}
		return nil
	})
}
