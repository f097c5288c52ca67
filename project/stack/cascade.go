package stack

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
)

// An invalidation takes effect in one short transaction, for everything below its frame
// (DESIGN §4). The transaction leaves frames that it has no time to store to a Cascade,
// which makes them read as if they were stored. The process that began the cascade then
// stores them in batches, one transaction each. If it falls silent, any other process
// continues.

const (
	settledAtOnce = 25                // frames between two looks at the clock
	silence       = core.Millis(2000) // of the process that began a cascade, before others continue it
)

// Invalidated is the result of Invalidate.
type Invalidated struct {
	Target     core.Frame
	Planned    Tally  // planned frames below it, now invalidated
	InProgress Tally  // frames below it in progress: unchanged, but their workers should be warned
	Current    string // id of the caller's current frame now; empty without one

	inPart bool // it did not visit all frames below
	begun  bool // a cascade continues with the rest
}

// A Tally counts frames and names the first of them.
type Tally struct {
	First []core.Frame // at most 20
	Count int
}

// tallied limits the frames that a Tally names.
const tallied = 20

func (t *Tally) add(f core.Frame) {
	if len(t.First) < tallied {
		t.First = append(t.First, f)
	}
	t.Count++
}

// Invalidate marks a frame, the caller's own unless ref names another, and all planned
// frames below it as no longer valid. This takes effect for all of them at once. Invalidate
// returns when all are stored; if storing fails, sweeps do the rest.
func Invalidate(ctx context.Context, p *project.Project, by project.Caller, ref, reason string) (done Invalidated, err error) {
	if reason, err = project.Clean("reason", reason); err != nil {
		return done, err
	}
	err = p.Update(ctx, by, func(s *project.Step) error {
		frame, err := resolveMeant(s, ref)
		if err != nil {
			return err
		}
		if done, err = invalidate(s, frame, reason); err != nil {
			return err
		}
		if done.Current, err = s.NearestOpen(s.Session.Current); err != nil {
			return err
		}
		return autonomy.Enter(s, done.Current)
	})
	if err != nil {
		return done, err
	}
	if done.begun {
		err = settleAll(ctx, p, &done)
	}
	if done.inPart && err == nil {
		err = openBelow(ctx, p, &done)
	}
	if err != nil {
		p.Log.Warn("the rest of an invalidation is left to sweeps", "frame", done.Target.ID, "error", err)
	}
	return done, nil
}

// invalidate marks target as no longer valid and begins with the frames below it. It leaves
// frames for which it has no time to a cascade.
func invalidate(s *project.Step, target core.Frame, reason string) (done Invalidated, err error) {
	if err := target.Invalidate(reason, s.Now); err != nil {
		return done, err
	}
	done.Target = target
	if err := errors.Join(saveInvalidated(s, target), EndRootLater(s, target)); err != nil {
		return done, err
	}
	cascade := core.CascadeOf(target)
	for f, err := range core.Below(target.ID, func(id string) iter.Seq2[core.Frame, error] { return childrenOf(s, id) }) {
		if err != nil {
			return done, err
		}
		if done.inPart = s.Late(); done.inPart {
			done.begun, err = leave(s, project.Cascade{Cascade: cascade, Frame: target.ID, Settled: done.Planned.Count})
			return done, err
		}
		if f.Status == core.InProgress {
			done.InProgress.add(f)
		}
		if !cascade.Void(&f) {
			continue
		}
		if err := saveInvalidated(s, f); err != nil {
			return done, err
		}
		done.Planned.add(f)
	}
	return done, nil
}

func saveInvalidated(s *project.Step, f core.Frame) error {
	return errors.Join(s.Tx.SaveFrame(f), s.Emit(core.FrameInvalidated, f.ID, invalidatedBy(f.InvalidationReason)))
}

// invalidatedBy returns the data of an invalidation's event.
func invalidatedBy(reason string) map[string]any { return map[string]any{"reason": reason} }

// childrenOf yields the children of a frame, oldest first, a page at a time.
func childrenOf(s *project.Step, id string) iter.Seq2[core.Frame, error] {
	const page = 100
	return func(yield func(core.Frame, error) bool) {
		query := project.FrameQuery{Parent: id, Archived: true, Limit: page}
		for {
			children, err := s.Tx.FindFrames(query)
			if err != nil {
				yield(core.Frame{}, err)
				return
			}
			for _, f := range children {
				if !yield(f, nil) {
					return
				}
			}
			if len(children) < page {
				return
			}
			query.After = children[page-1].ID
		}
	}
}

// leave begins a cascade, unless one is in progress for the same frame or for a frame above
// it: then no frame below reads as planned.
func leave(s *project.Step, c project.Cascade) (begun bool, err error) {
	all, err := s.Tx.Cascades()
	if err != nil {
		return false, err
	}
	for _, other := range all {
		if inside, err := s.IsInside(c.Frame, other.Frame); inside || err != nil {
			return false, err
		}
	}
	c.Session, c.Agent, c.Due = s.Session.ID, s.Agent, s.Now+silence
	return true, s.Tx.BeginCascade(c)
}

// turn is the longest pause between two batches, in which others can write.
const turn = 50 * time.Millisecond

// settleAll runs the cascade of done's target to its end. After each batch it pauses as
// long as the batch took, to let others write.
func settleAll(ctx context.Context, p *project.Project, done *Invalidated) error {
	for {
		began := time.Now()
		ids, c, err := SettleBatch(ctx, p, done.Target.ID, silence)
		if err != nil {
			return err
		}
		if err := tallyNames(ctx, p, &done.Planned, ids); err != nil {
			return err
		}
		done.Planned.Count = max(done.Planned.Count, c.Settled)
		if c.Due == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(time.Since(began), turn)):
		}
	}
}

// openBelow counts the frames in progress below done's target, the latest change first.
func openBelow(ctx context.Context, p *project.Project, done *Invalidated) error {
	done.InProgress = Tally{}
	for from, more := "", true; more; more = from != "" {
		var ids []string
		err := p.Store.View(ctx, func(tx project.Tx) (err error) {
			ids, from, err = tx.OpenBelow(done.Target.ID, from)
			return err
		})
		if err != nil {
			return err
		}
		if err := tallyNames(ctx, p, &done.InProgress, ids); err != nil {
			return err
		}
	}
	return nil
}

// tallyNames adds frames to a tally, the first of them by name.
func tallyNames(ctx context.Context, p *project.Project, t *Tally, ids []string) error {
	named := min(len(ids), tallied-len(t.First))
	t.Count += len(ids) - named
	if named == 0 {
		return nil
	}
	return p.Store.View(ctx, func(tx project.Tx) error {
		for _, id := range ids[:named] {
			f, err := tx.Frame(id)
			if err != nil {
				return err
			}
			t.add(f)
		}
		return nil
	})
}

// SettleBatch continues the cascade of a frame for one transaction, and keeps others from
// continuing it for the time alone. It returns the ids of the frames that it settled, and
// the changed cascade: its Due is 0 if it has ended.
func SettleBatch(ctx context.Context, p *project.Project, frame string, alone core.Millis) (ids []string, c project.Cascade, err error) {
	err = p.Store.Update(ctx, func(tx project.Tx) error {
		ids, c = nil, project.Cascade{}
		all, err := tx.Cascades()
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(c project.Cascade) bool { return c.Frame == frame })
		if at < 0 {
			return nil // another process has finished it
		}
		c = all[at]
		s := p.Step(tx, project.Caller{Session: c.Session, Agent: c.Agent})
		if err := s.Enter(); err != nil {
			return err
		}
		ids, err = settle(s, &c, alone)
		return err
	})
	if len(ids) > 0 && err == nil {
		p.Log.Info(core.FrameInvalidated, "below", frame, "frames", len(ids), "session", c.Session)
	}
	return ids, c, err
}

// settle is SettleBatch inside a step.
func settle(s *project.Step, c *project.Cascade, alone core.Millis) (settled []string, err error) {
	event, err := s.Event(core.FrameInvalidated, "", invalidatedBy(c.Reason))
	if err != nil {
		return nil, err
	}
	for more := true; more; {
		var ids []string
		if ids, more, err = s.Tx.Settle(c.Frame, event, settledAtOnce); err != nil {
			return nil, err
		}
		settled = append(settled, ids...)
		if more && s.Late() {
			c.Settled, c.Due = c.Settled+len(settled), s.Now+alone
			return settled, s.Tx.PutOffCascade(c.Frame, c.Due)
		}
	}
	c.Settled, c.Due = c.Settled+len(settled), 0
	return settled, s.Tx.EndCascade(c.Frame)
}
