package turns

import (
	"context"
	"errors"

	"flame/core"
	"flame/project"
	"flame/project/children"
	"flame/project/sweep"
)

// An EventID identifies an event, so that flame handles it once even if it comes repeatedly. The
// events of a source have numbers in the order in which they come.
type EventID struct {
	Source string
	N      int64
	Late   string // the host that no longer waits for the event; empty: it does
}

// recordTaken, by source, is how many of its events flame has handled.
const recordTaken project.RecordKind[handledEvents] = "source.taken"

type handledEvents struct {
	N  int64       `json:"n"`  // number of the last event that changed something, or that SaveHandled recorded
	At core.Millis `json:"at"` // when that was
}

// HandledFrom returns the number of the last event of a source that flame has handled.
func HandledFrom(ctx context.Context, p *project.Project, source string) (int64, error) {
	last, err := project.Read(ctx, p, func(tx project.Tx) (handledEvents, error) { return recordTaken.Find(tx, source) })
	return last.N, err
}

// SaveHandled records that flame has handled the events of a source up to this one, and counts a late one.
func SaveHandled(ctx context.Context, p *project.Project, upTo EventID) error {
	return p.Store.Run(ctx, func(tx project.Tx) error {
		t, err := recordTaken.Find(tx, upTo.Source)
		if err != nil || upTo.N <= t.N {
			return err
		}
		if upTo.Late != "" {
			err = p.NoteLate(tx, upTo.Late)
		}
		return errors.Join(err, recordTaken.Save(tx, upTo.Source, handledEvents{N: upTo.N, At: p.Now()}))
	})
}

// ForgetSources forgets the sources that sent nothing for a day.
func ForgetSources(ctx context.Context, p *project.Project) error {
	return p.Store.Run(ctx, func(tx project.Tx) error {
		return recordTaken.Forget(tx, func(t handledEvents) bool { return p.Now()-t.At > project.Day })
	})
}

var errDue = errors.New("turns: something is due first")

// OnEvent is Together for an f that handles an event of a host. It first does the work that
// is due. If a session starts with the event, it also first ends the sessions that ended
// without a report, so that flame can offer their frames to the new session; for other events
// that would take too long. It does not run f if hooks are off for the project, or if flame
// has handled the event before.
func OnEvent(ctx context.Context, p *project.Project, marks []EventID, starts bool, f func(*project.Project) error) error {
	due := sweep.Due
	if starts {
		due = sweep.DueWithDeadSessions
	}
	var work sweep.Work
	err := handleOnce(ctx, p, marks, f, func(p *project.Project) (err error) {
		if work, err = due(ctx, p); err == nil && !work.Empty() {
			err = errDue
		}
		return err
	})
	if errors.Is(err, errDue) {
		work.Do(ctx, p, 0)
		err = handleOnce(ctx, p, marks, f, func(*project.Project) error { return nil })
	}
	return err
}

// handleOnce handles a new event, if first allows it. It records an event that changed something; a late
// one in any case, as others wait behind it.
func handleOnce(ctx context.Context, p *project.Project, marks []EventID, f, first func(*project.Project) error) error {
	return p.Batch(ctx, func(p *project.Project) error {
		if off, err := p.Off(ctx); off || err != nil {
			return err
		}
		if err := first(p); err != nil {
			return err
		}
		known := false
		for _, mark := range marks {
			last, err := HandledFrom(ctx, p, mark.Source)
			if err != nil {
				return err
			}
			known = known || mark.N <= last
		}
		if !known {
			if err := f(p); err != nil {
				return err
			}
		}
		if !p.Changed() && !p.Replaying {
			return nil
		}
		for _, mark := range marks {
			if err := SaveHandled(ctx, p, mark); err != nil {
				return err
			}
		}
		return nil
	})
}

// CatchUp records what a conversation shows and no event reported: its prompts, and with
// them its root frame, and its children. The caller needs to give only the first and the
// last prompt; the first counts only if the session is unknown.
func CatchUp(ctx context.Context, p *project.Project, by project.Caller, prompts []Prompt, tasks []children.Task) error {
	if len(prompts)+len(tasks) == 0 {
		return nil
	}
	known, _, err := children.IsKnown(ctx, p, by.Session)
	if err != nil {
		return err
	}
	var errs []error
	if known && len(prompts) > 1 {
		prompts = prompts[len(prompts)-1:]
	}
	for _, prompt := range prompts {
		errs = append(errs, NotePrompt(ctx, p, by, prompt))
	}
	return errors.Join(append(errs, children.CatchUp(ctx, p, by, tasks))...)
}

// A Gap is the part of a turn that its host has not reported.
type Gap struct{ Prompt, End bool }

// GapOf returns the unreported part of the turn that began with a prompt, the newest of the
// caller's session. With an empty id it returns no gap.
func GapOf(ctx context.Context, p *project.Project, by project.Caller, id string) (gap Gap, err error) {
	if id == "" {
		return gap, nil
	}
	err = p.Store.View(ctx, func(tx project.Tx) error {
		mine, err := project.RecordHookState.Find(tx, by.Session)
		gap = Gap{Prompt: mine.Prompt != id, End: mine.EndedPrompt != id}
		return err
	})
	return gap, err
}
