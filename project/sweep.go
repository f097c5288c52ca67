package project

import (
	"context"
	"errors"
	"slices"
	"time"

	"flame/core"
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

// Sweep does what is due: it completes idle subagents, gives up on summaries
// that did not come, expires suggestions, counts usage, drops old events and goes
// on with invalidations that their processes left. It writes only when something is
// due, and a deadline that fails does not stop the rest.
func (p *Project) Sweep(ctx context.Context) error {
	return p.sweep(ctx, 0)
}

func (p *Project) sweep(ctx context.Context, jumped core.Millis) error {
	work, err := p.due(ctx)
	if err != nil {
		return err
	}
	p.settleLeft(ctx, work.cascades)
	for _, d := range work.deadlines {
		if jumped > 0 && d.Kind == deadlineIdle {
			err = p.postpone(ctx, d, jumped)
		} else {
			err = p.meet(ctx, d)
		}
		if err != nil {
			p.Log.Warn("a deadline could not be met", "kind", d.Kind, "subject", d.Subject, "error", err)
		}
	}
	return nil
}

// settleLeft does a batch of each cascade that nobody goes on with. One that fails is
// tried again in a minute.
func (p *Project) settleLeft(ctx context.Context, cascades []Cascade) {
	for _, c := range cascades {
		if _, _, err := p.settleBatch(ctx, c.Frame, 0); err != nil {
			later := p.Store.Update(ctx, func(tx Tx) error { return tx.PutOffCascade(c.Frame, p.Now()+minute) })
			p.Log.Warn("an invalidation could not go on", "frame", c.Frame, "error", errors.Join(err, later))
		}
	}
}

// A dueWork is what one sweep does.
type dueWork struct {
	deadlines []Deadline
	cascades  []Cascade // that nobody goes on with
}

func (w dueWork) none() bool { return len(w.deadlines)+len(w.cascades) == 0 }

// due returns what is due: at most maxSwept deadlines, earliest first, and after them
// at most maxCounted of usage, which take longest and would keep the others waiting. A
// process that reads no transcripts has none of these.
func (p *Project) due(ctx context.Context) (work dueWork, err error) {
	now := p.Now()
	err = p.Store.View(ctx, func(tx Tx) error {
		if work.cascades, err = tx.Cascades(); err != nil {
			return err
		}
		work.cascades = slices.DeleteFunc(work.cascades, func(c Cascade) bool { return c.Due > now })
		if work.deadlines, err = tx.DueDeadlines(now, "", deadlineUsage, maxSwept); err != nil || p.Transcripts == nil {
			return err
		}
		usage, err := tx.DueDeadlines(now, deadlineUsage, "", maxCounted)
		work.deadlines = append(work.deadlines, usage...)
		return err
	})
	return work, err
}

// postpone moves a deadline by the time that the machine slept.
func (p *Project) postpone(ctx context.Context, d Deadline, by core.Millis) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		return tx.SetDeadline(Deadline{Kind: d.Kind, Subject: d.Subject, Due: d.Due + by, Set: p.Now()})
	})
}

// meet does what is due by d, once: in one transaction with the removal of d,
// and only if another process has not done it since. A deadline whose rule
// fails is dropped rather than tried forever; where the store cannot serve, it
// stays for the next sweep.
func (p *Project) meet(ctx context.Context, d Deadline) error {
	do := p.once
	if d.Kind == deadlineUsage {
		do = p.count
	}
	err := do(ctx, d)
	if err == nil || errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, p.Store.Update(ctx, func(tx Tx) error {
		return tx.ClearDeadline(d.Kind, d.Subject)
	}))
}

// once acts on d and removes it, if it is still due.
func (p *Project) once(ctx context.Context, d Deadline) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		s := p.step(tx, Caller{})
		_, due, err := s.due(d.Kind, d.Subject)
		if err != nil || !due {
			return err
		}
		if err := s.ClearDeadline(d.Kind, d.Subject); err != nil {
			return err
		}
		return s.act(d)
	})
}

// act does what a deadline of each kind stands for.
func (s *step) act(d Deadline) error {
	switch d.Kind {
	case deadlineIdle:
		return s.idleElapsed(d.Subject)
	case deadlineCompleted:
		return s.pendingTimedOut(d.Subject)
	case deadlineSuggestion:
		return s.suggestionsElapsed(d.Subject)
	case deadlineEvents:
		return s.dropOldEvents()
	}
	return core.Invalidf("no rule for deadlines of kind %q", d.Kind)
}

const minute = core.Millis(60_000)

// dropOldEvents removes events beyond their keep and comes back in a day, or at once
// for those that it had no time for.
func (s *step) dropOldEvents() error {
	const some = 100
	again := Deadline{Kind: deadlineEvents, Due: s.now + day, Set: s.now}
	for left := s.p.EventDays > 0; left; {
		n, err := s.DeleteEventsBefore(s.now-core.Millis(s.p.EventDays)*day, some)
		if err != nil {
			return err
		}
		left = n == some
		if left && s.late() {
			again.Due, left = s.now, false
		}
	}
	return s.SetDeadline(again)
}

// KeepSwept sweeps every second until ctx ends. pace gives the time that this
// process has been awake; where the clock runs ahead of it, the machine slept,
// and idle deadlines that fell due meanwhile are postponed once.
func (p *Project) KeepSwept(ctx context.Context, tick <-chan time.Time, pace func() time.Duration) {
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
		if err := p.sweep(ctx, jumped); err != nil && ctx.Err() == nil {
			p.Log.Warn("sweep", "error", err)
		}
	}
}
