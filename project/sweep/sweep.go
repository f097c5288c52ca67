// Package sweep does the work that is due: it meets deadlines, finishes invalidations
// that other processes left, deletes old events and prunes idle roots.
package sweep

import (
	"context"
	"errors"
	"slices"
	"time"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/usage"
)

// maxSwept and maxCounted limit the deadlines of one sweep, to keep it short.
const (
	maxSwept   = 100
	maxCounted = 4
)

// clockJump is how far the clock may run ahead of the process's time awake before that
// counts as a jump: a laptop that slept (DESIGN §4).
const clockJump = core.Millis(60_000)

// Once does the work that is due: it ends sessions that no longer run, and their roots,
// completes idle subagents, gives up on summaries that did not come, expires suggestions,
// counts usage, deletes old events and continues invalidations that other processes left.
// It writes only if something is due, and a deadline that fails does not stop the rest.
func Once(ctx context.Context, p *project.Project) error {
	return sweep(ctx, p, 0)
}

func sweep(ctx context.Context, p *project.Project, jumped core.Millis) error {
	work, err := DueAndOver(ctx, p)
	if err == nil {
		work.do(ctx, p, jumped)
	}
	return err
}

// Do does the work of one sweep, as Once does.
func (w Work) Do(ctx context.Context, p *project.Project) { w.do(ctx, p, 0) }

// do is Do after the clock jumped that far.
func (w Work) do(ctx context.Context, p *project.Project, jumped core.Millis) {
	settleLeft(ctx, p, w.cascades)
	endOver(ctx, p, w.over)
	for _, d := range w.deadlines {
		var err error
		if jumped > 0 && d.Kind == children.IdleDeadline {
			err = postpone(ctx, p, d, jumped)
		} else {
			err = meet(ctx, p, d)
		}
		if err != nil {
			p.Log.Warn("a deadline could not be met", "kind", d.Kind, "subject", d.Subject, "error", err)
		}
	}
}

// settleLeft runs a batch of each cascade that its process left. One that fails is
// retried in a minute.
func settleLeft(ctx context.Context, p *project.Project, cascades []project.Cascade) {
	for _, c := range cascades {
		if _, _, err := stack.SettleBatch(ctx, p, c.Frame, 0); err != nil {
			later := p.Store.Update(ctx, func(tx project.Tx) error { return tx.PutOffCascade(c.Frame, p.Now()+minute) })
			p.Log.Warn("an invalidation could not go on", "frame", c.Frame, "error", errors.Join(err, later))
		}
	}
}

// Work is the work of one sweep.
type Work struct {
	deadlines []project.Deadline
	cascades  []project.Cascade // left by their processes
	over      []string          // ids of sessions that have ended without a word
}

// Empty reports whether nothing is due.
func (w Work) Empty() bool { return len(w.deadlines)+len(w.cascades)+len(w.over) == 0 }

// Due returns the work that is due: at most maxSwept deadlines, earliest first, and after
// them at most maxCounted for usage, which take longest and would delay the others. A
// process without a TranscriptReader gets none of the latter, nor children to look at, whose
// messages those count. It does not look for
// sessions that have ended without a word, as that takes as long as there are sessions.
func Due(ctx context.Context, p *project.Project) (work Work, err error) {
	now := p.Now()
	err = p.Store.View(ctx, func(tx project.Tx) error {
		if work.cascades, err = tx.Cascades(); err != nil {
			return err
		}
		work.cascades = slices.DeleteFunc(work.cascades, func(c project.Cascade) bool { return c.Due > now })
		if work.deadlines, err = tx.DueDeadlines(now, "", project.UsageDeadline, maxSwept); err != nil {
			return err
		}
		if p.Transcripts == nil {
			work.deadlines = slices.DeleteFunc(work.deadlines, func(d project.Deadline) bool { return d.Kind == children.WorthDeadline })
			return nil
		}
		usage, err := tx.DueDeadlines(now, project.UsageDeadline, "", maxCounted)
		work.deadlines = append(work.deadlines, usage...)
		return err
	})
	return work, err
}

// DueAndOver is Due that also looks for sessions that have ended without a word.
func DueAndOver(ctx context.Context, p *project.Project) (work Work, err error) {
	if work, err = Due(ctx, p); err != nil {
		return work, err
	}
	err = p.Store.View(ctx, func(tx project.Tx) error {
		work.over, err = over(p, tx, p.Now())
		return err
	})
	return work, err
}

// postpone moves a deadline by the time that the machine slept.
func postpone(ctx context.Context, p *project.Project, d project.Deadline, by core.Millis) error {
	return p.Store.Update(ctx, func(tx project.Tx) error {
		return tx.SetDeadline(project.Deadline{Kind: d.Kind, Subject: d.Subject, Due: d.Due + by, Set: p.Now()})
	})
}

// meet acts on d exactly once: in the transaction that removes d, and only if no other
// process has done it since. A deadline whose action fails is dropped rather than retried
// forever; if the store is unavailable, it stays for the next sweep.
func meet(ctx context.Context, p *project.Project, d project.Deadline) error {
	do := meetOnce
	if d.Kind == project.UsageDeadline {
		do = usage.CountLog
	}
	err := do(ctx, p, d)
	if err == nil || errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, p.Store.Update(ctx, func(tx project.Tx) error {
		return tx.ClearDeadline(d.Kind, d.Subject)
	}))
}

// meetOnce acts on d and removes it, if it is still due.
func meetOnce(ctx context.Context, p *project.Project, d project.Deadline) error {
	return p.Store.Update(ctx, func(tx project.Tx) error {
		s := p.Step(tx, project.Caller{})
		_, due, err := s.Due(d.Kind, d.Subject)
		if err != nil || !due {
			return err
		}
		if err := s.Tx.ClearDeadline(d.Kind, d.Subject); err != nil {
			return err
		}
		return act(s, d)
	})
}

// act does the work of a deadline, by its kind.
func act(s *project.Step, d project.Deadline) error {
	switch d.Kind {
	case children.IdleDeadline:
		return children.CompleteIdle(s, d.Subject)
	case children.WorthDeadline:
		return children.Look(s, d.Subject)
	case stack.SummaryDeadline:
		return stack.GiveUpSummary(s, d.Subject)
	case autonomy.ExpiryDeadline:
		return autonomy.Expire(s, d.Subject)
	case stack.RootDeadline:
		return stack.EndRoot(s, d.Subject)
	case project.ElsewhereDeadline:
		return children.EndElsewhere(s, d.Subject)
	case project.EventsDeadline:
		return errors.Join(dropOldEvents(s), endOldRoots(s))
	}
	return core.Invalidf("no rule for deadlines of kind %q", d.Kind)
}

const minute = core.Millis(60_000)

// dropOldEvents deletes events older than EventDays, and sets the next deadline: in a
// day, or at once if there was no time for all of them.
func dropOldEvents(s *project.Step) error {
	const some = 100
	again := project.Deadline{Kind: project.EventsDeadline, Due: s.Now + project.Day, Set: s.Now}
	for left := s.Project.EventDays > 0; left; {
		n, err := s.Tx.DeleteEventsBefore(s.Now-core.Millis(s.Project.EventDays)*project.Day, some)
		if err != nil {
			return err
		}
		left = n == some
		if left && s.Late() {
			again.Due, left = s.Now, false
		}
	}
	return s.Tx.SetDeadline(again)
}

// Run sweeps at every tick until ctx ends. pace returns how long this process has been
// awake; if the clock runs ahead of it, the machine slept, and idle deadlines that fell
// due meanwhile are postponed once.
func Run(ctx context.Context, p *project.Project, tick <-chan time.Time, pace func() time.Duration) {
	wall, awake := p.Now(), pace()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		now, up := p.Now(), pace()
		jumped := (now - wall) - core.Millis((up - awake).Milliseconds())
		wall, awake = now, up
		if jumped < clockJump {
			jumped = 0
		}
		if err := sweep(ctx, p, jumped); err != nil && ctx.Err() == nil {
			p.Log.Warn("sweep", "error", err)
		}
	}
}
