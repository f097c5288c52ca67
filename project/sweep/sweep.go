// Package sweep does what is due: deadlines, invalidations that their processes left, old
// events, and idle roots.
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

// maxSwept and maxCounted bound the deadlines of one sweep, so that each stays
// short.
const (
	maxSwept   = 100
	maxCounted = 4
)

// clockJump is how far the clock may run ahead of a sweeper's own pace before
// that counts as a jump: a laptop that slept (DESIGN §4).
const clockJump = core.Millis(60_000)

// Once does what is due: it completes idle subagents, gives up on summaries
// that did not come, expires suggestions, counts usage, drops old events and goes
// on with invalidations that their processes left. It writes only when something is
// due, and a deadline that fails does not stop the rest.
func Once(ctx context.Context, p *project.Project) error {
	return sweep(ctx, p, 0)
}

func sweep(ctx context.Context, p *project.Project, jumped core.Millis) error {
	work, err := Due(ctx, p)
	if err != nil {
		return err
	}
	settleLeft(ctx, p, work.cascades)
	for _, d := range work.deadlines {
		if jumped > 0 && d.Kind == children.IdleDeadline {
			err = postpone(ctx, p, d, jumped)
		} else {
			err = meet(ctx, p, d)
		}
		if err != nil {
			p.Log.Warn("a deadline could not be met", "kind", d.Kind, "subject", d.Subject, "error", err)
		}
	}
	return nil
}

// settleLeft does a batch of each cascade that nobody goes on with. One that fails is
// tried again in a minute.
func settleLeft(ctx context.Context, p *project.Project, cascades []project.Cascade) {
	for _, c := range cascades {
		if _, _, err := stack.SettleBatch(ctx, p, c.Frame, 0); err != nil {
			later := p.Store.Update(ctx, func(tx project.Tx) error { return tx.PutOffCascade(c.Frame, p.Now()+minute) })
			p.Log.Warn("an invalidation could not go on", "frame", c.Frame, "error", errors.Join(err, later))
		}
	}
}

// A Work is what one sweep does.
type Work struct {
	deadlines []project.Deadline
	cascades  []project.Cascade // that nobody goes on with
}

// Empty reports whether nothing is due.
func (w Work) Empty() bool { return len(w.deadlines)+len(w.cascades) == 0 }

// Due returns what is due: at most maxSwept deadlines, earliest first, and after them
// at most maxCounted of usage, which take longest and would keep the others waiting. A
// process that reads no transcripts has none of these.
func Due(ctx context.Context, p *project.Project) (work Work, err error) {
	now := p.Now()
	err = p.Store.View(ctx, func(tx project.Tx) error {
		if work.cascades, err = tx.Cascades(); err != nil {
			return err
		}
		work.cascades = slices.DeleteFunc(work.cascades, func(c project.Cascade) bool { return c.Due > now })
		if work.deadlines, err = tx.DueDeadlines(now, "", project.UsageDeadline, maxSwept); err != nil || p.Transcripts == nil {
			return err
		}
		usage, err := tx.DueDeadlines(now, project.UsageDeadline, "", maxCounted)
		work.deadlines = append(work.deadlines, usage...)
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

// meet does what is due by d, once: in one transaction with the removal of d,
// and only if another process has not done it since. A deadline whose rule
// fails is dropped rather than tried forever; where the store cannot serve, it
// stays for the next sweep.
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

// act does what a deadline of each kind stands for.
func act(s *project.Step, d project.Deadline) error {
	switch d.Kind {
	case children.IdleDeadline:
		return children.CompleteIdle(s, d.Subject)
	case stack.SummaryDeadline:
		return stack.GiveUpSummary(s, d.Subject)
	case autonomy.ExpiryDeadline:
		return autonomy.Expire(s, d.Subject)
	case project.EventsDeadline:
		return dropOldEvents(s)
	}
	return core.Invalidf("no rule for deadlines of kind %q", d.Kind)
}

const minute = core.Millis(60_000)

// dropOldEvents removes events beyond their keep and comes back in a day, or at once
// for those that it had no time for.
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

// Run sweeps every second until ctx ends. pace gives the time that this
// process has been awake; where the clock runs ahead of it, the machine slept,
// and idle deadlines that fell due meanwhile are postponed once.
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
