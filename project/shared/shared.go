// Package shared is a project's part in a tree that several machines have: it turns what
// was done here into documents for the others, and takes theirs in. How documents travel is
// the hub's matter.
package shared

import (
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/core/merge"
	"flame/project"
)

// recordDoc, by a frame's id, is the document on which this machine and the others agreed
// last.
const recordDoc project.Kind[merge.Doc] = "shared"

// recordClock is the clock of this machine's stamps.
const recordClock project.Kind[merge.Clock] = "shared_clock"

// recordGone has the ids of agreed documents whose frames were deleted, and recordHere is
// the number of all others: if there are fewer frames, some were deleted since.
const (
	recordGone project.Kind[bool] = "shared_gone"
	recordHere project.Kind[int]  = "shared_here"
)

// part is how many frames are read at a time, and batchTime how long one transaction
// lasts: with its commit it stays below the 50 ms that others may have to wait (DESIGN §4).
const (
	part      = 50
	batchTime = core.Millis(20)
)

// A batch is a transaction of this package: what is kept between them, as it will be saved.
type batch struct {
	tx    project.Tx
	s     *project.Step
	clock merge.Clock
	here  int

	events []core.Event // of what changed, to be written together

	began merge.Clock // the clock as it was read
	were  int         // here as it was read
}

// tick makes a stamp.
func (b *batch) tick() merge.Stamp { return b.clock.Tick(b.s.Now) }

// frames returns the frames that have these ids.
func (b *batch) frames(ids []string) (map[string]core.Frame, error) {
	list, err := b.tx.FramesOf(ids)
	found := make(map[string]core.Frame, len(list))
	for _, f := range list {
		found[f.ID] = f
	}
	return found, err
}

// begin reads what is kept between transactions.
func begin(p *project.Project, tx project.Tx, machine string) (*batch, error) {
	b := &batch{tx: tx, s: p.Step(tx, project.Caller{})}
	_, err := recordClock.Load(tx, "", &b.clock)
	if err == nil {
		_, err = recordHere.Load(tx, "", &b.here)
	}
	b.clock.Machine = machine
	b.began, b.were = b.clock, b.here
	return b, err
}

// tell writes the events of what changed.
func (b *batch) tell() (err error) {
	if len(b.events) > 0 {
		_, err = b.tx.AppendEvent(b.events[0], b.events[1:]...)
	}
	b.events = nil
	return err
}

// end saves what is kept between transactions.
func (b *batch) end() (err error) {
	if b.clock != b.began {
		err = recordClock.Save(b.tx, "", b.clock)
	}
	if b.here != b.were {
		err = errors.Join(err, recordHere.Save(b.tx, "", b.here))
	}
	return err
}

// late reports whether the transaction has taken long enough.
func (b *batch) late() bool { return b.s.Project.Now()-b.s.Now > batchTime }

// inBatches runs work on parts of items in short transactions, which only read until they
// write, and passes the results to done once they are durable. work returns how many items
// of its part it did: at least one, and not all if it is late.
func inBatches[T, R any](
	ctx context.Context, p *project.Project, machine string, items []T, work func(*batch, []T) (R, int, error), done func(R),
) error {
	for len(items) > 0 {
		var results []R
		var rest []T
		err := p.Store.Run(ctx, func(tx project.Tx) error {
			results, rest = nil, items
			b, err := begin(p, tx, machine)
			if err != nil {
				return err
			}
			for len(rest) > 0 && (len(results) == 0 || !b.late()) {
				result, n, err := work(b, rest[:min(part, len(rest))])
				if err != nil {
					return err
				}
				results, rest = append(results, result), rest[n:]
			}
			return b.end()
		})
		if err != nil {
			return err
		}
		items = rest
		for _, result := range results {
			done(result)
		}
	}
	return nil
}

// Known calls f for each document that was agreed on, outside of transactions.
func Known(ctx context.Context, p *project.Project, f func(merge.Doc) error) error {
	var ids []string
	err := p.Store.View(ctx, func(tx project.Tx) error {
		all, err := tx.FrameIDs()
		if err != nil {
			return err
		}
		gone, err := recordGone.IDs(tx, "")
		ids = append(all, gone...)
		return err
	})
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(ids, part) {
		var docs []merge.Doc
		err := p.Store.View(ctx, func(tx project.Tx) error {
			docs = nil
			for _, id := range ids {
				var d merge.Doc
				known, err := recordDoc.Load(tx, id, &d)
				if err != nil {
					return err
				}
				if known {
					docs = append(docs, d)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := f(d); err != nil {
				return err
			}
		}
	}
	return nil
}
