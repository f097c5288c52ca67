package transfer

import (
	"context"
	"errors"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/merge"
	"flame/project"
)

// A SharedTree is the project's part in a tree that several machines share, as one of them: it turns
// changes made here into documents for the other machines, and merges theirs. The hub transports the
// documents.
type SharedTree struct {
	Project *project.Project
	Machine string // id of this machine
}

// recordDoc, by a frame's id, is the document on which this machine and the others last
// agreed.
const recordDoc project.RecordKind[merge.Doc] = "shared"

// recordClock is the clock of this machine's stamps.
const recordClock project.RecordKind[merge.Clock] = "project.clock"

// recordGone has the ids of agreed documents whose frames were deleted. recordHere is the
// number of all other documents: if there are fewer frames, some were deleted since.
const (
	recordGone project.RecordKind[bool] = "shared_gone"
	recordHere project.RecordKind[int]  = "project.here"
)

// part is how many frames flame reads at a time. batchTime is how long one transaction may
// last, in ms: with its commit it stays below the 50 ms for which others may have to wait.
const (
	part      = 50
	batchTime = core.Millis(20)
)

// A batch is one transaction of this package, with the state that lasts between transactions.
type batch struct {
	tx    project.Tx
	s     *project.Op
	clock merge.Clock
	here  int

	events []core.Event // about the changes, written together

	began merge.Clock // the clock at the beginning
	were  int         // here at the beginning
}

// tick makes a stamp.
func (b *batch) tick() merge.Timestamp { return b.clock.Tick(b.s.Now) }

// frames returns the frames that have these ids.
func (b *batch) frames(ids []string) (map[string]core.Frame, error) {
	list, err := b.tx.FramesOf(ids)
	return lo.KeyBy(list, func(f core.Frame) string { return f.ID }), err
}

// begin reads the state that lasts between transactions.
func begin(p *project.Project, tx project.Tx, machine string) (*batch, error) {
	b := &batch{tx: tx, s: p.Step(tx, project.Caller{})}
	clock, err := recordClock.Find(tx, "")
	here, wrong := recordHere.Find(tx, "")
	clock.Machine = machine
	b.clock, b.began, b.here, b.were = clock, clock, here, here
	return b, errors.Join(err, wrong)
}

// tell writes the events about the changes.
func (b *batch) tell() (err error) {
	if len(b.events) > 0 {
		_, err = b.tx.AppendEvent(b.events[0], b.events[1:]...)
	}
	b.events = nil
	return err
}

// end saves the state that lasts between transactions.
func (b *batch) end() (err error) {
	if b.clock != b.began {
		err = recordClock.Save(b.tx, "", b.clock)
	}
	if b.here != b.were {
		err = errors.Join(err, recordHere.Save(b.tx, "", b.here))
	}
	return err
}

// late reports whether the transaction has lasted long enough.
func (b *batch) late() bool { return b.s.Project.Now()-b.s.Now > batchTime }

// inBatches runs work on parts of items in short transactions, which only read until they
// write, and passes the results to done once they are durable. work returns how many items
// of its part it did: at least one, and not all if it is late.
func inBatches[T, R any](
	ctx context.Context, p *project.Project, machine string, items []T, work func(*batch, []T) (R, int, error), done func(R),
) error {
	for len(items) > 0 {
		var results []R
		n := 0
		err := p.Store.Run(ctx, func(tx project.Tx) error {
			results, n = nil, 0
			b, err := begin(p, tx, machine)
			for err == nil && n < len(items) && (n == 0 || !b.late()) {
				var result R
				var did int
				result, did, err = work(b, items[n:min(n+part, len(items))])
				results, n = append(results, result), n+did
			}
			if err != nil {
				return err
			}
			return b.end()
		})
		if err != nil {
			return err
		}
		items = items[n:]
		for _, result := range results {
			done(result)
		}
	}
	return nil
}

// Known calls f for each agreed document, outside of transactions.
func (t SharedTree) Known(ctx context.Context, f func(merge.Doc) error) error {
	p := t.Project
	ids, err := project.Read(ctx, p, func(tx project.Tx) ([]string, error) {
		all, err := tx.FrameIDs()
		if err != nil {
			return nil, err
		}
		gone, err := recordGone.IDs(tx, "")
		return append(all, gone...), err
	})
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(ids, part) {
		docs, err := project.Read(ctx, p, func(tx project.Tx) (map[string]merge.Doc, error) { return recordDoc.At(tx, ids) })
		if err != nil {
			return err
		}
		for _, id := range ids {
			if d, known := docs[id]; known {
				if err := f(d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// SharedAs returns the id under which this machine last shared its frames; empty if it never
// did. A machine that joins again under another id would seem to take over all of its own
// frames.
func SharedAs(ctx context.Context, p *project.Project) (id string, err error) {
	clock, err := project.Read(ctx, p, func(tx project.Tx) (merge.Clock, error) { return recordClock.Find(tx, "") })
	if err != nil || !merge.ValidMachine(clock.Machine) {
		return "", err
	}
	return clock.Machine, nil
}

// Agreed returns the document of a frame on which this machine and the others last agreed;
// the zero Doc if there is none.
func Agreed(ctx context.Context, p *project.Project, frame string) (merge.Doc, error) {
	return project.Read(ctx, p, func(tx project.Tx) (merge.Doc, error) { return recordDoc.Find(tx, frame) })
}

// Limits of Held.
const (
	maxHeld   = 100  // frames, including those of other machines
	maxLooked = 2000 // frames, if those of other machines are among the first
	maxParent = 16   // sessions above that of a frame
)

// HeldFrames returns the ids of the frames in progress on this machine whose sessions are live: no
// other machine may take them over without asking. If there are very many, it returns those
// with the latest changes.
func HeldFrames(ctx context.Context, p *project.Project) (ids []string, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		open, err := newest(tx, maxHeld)
		if err == nil && slices.ContainsFunc(open, core.Frame.IsRemote) {
			open, err = newest(tx, maxLooked)
		}
		if err != nil {
			return err
		}
		live := map[string]bool{}
		held, err := project.Filter(open, func(f core.Frame) (_ bool, err error) {
			if !f.IsOpen() || f.Session == "" {
				return false, nil
			}
			is, known := live[f.Session]
			if !known {
				is, err = isLive(tx, f.Session)
				live[f.Session] = is
			}
			if err != nil || !is {
				return false, err
			}
			waits, err := waitsForAgent(tx, f.ID)
			return !waits, err
		})
		ids = lo.Map(held, func(f core.Frame, _ int) string { return f.ID })
		return err
	})
	return ids, err
}

// waitsForAgent reports whether a frame belongs to an agent whose session is still unknown.
// The frame has the session that asked for the agent, but a worker on another machine may
// take it over.
func waitsForAgent(tx project.Tx, frame string) (bool, error) {
	agent, known, err := project.RecordAgentFrame.Get(tx, frame)
	if err != nil || !known {
		return false, err
	}
	work, known, err := project.RecordAgentWork.Get(tx, agent)
	return known && work.Session == "", err
}

// newest returns the frames in progress, the latest change first.
func newest(tx project.Tx, limit int) ([]core.Frame, error) {
	return tx.FindFrames(project.FrameQuery{Statuses: []core.Status{core.InProgress}, Order: project.RecentFirst, Limit: limit})
}

// isLive reports whether a session has not ended; a child ends with its parent.
func isLive(tx project.Tx, id string) (bool, error) {
	for range maxParent {
		session, err := tx.Session(id)
		if err != nil || session.State == core.SessionEnded {
			return false, project.IgnoreMissing(err)
		}
		if session.Parent == "" {
			return true, nil
		}
		id = session.Parent
	}
	return false, nil
}
