package hub

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core/merge"
)

// findCut finds the frames whose results the hub has no room for.
func (r *round) findCut(ctx context.Context) error {
	return r.Tree.Known(ctx, func(d merge.Doc) error {
		if len(d.Work.Results) > r.tree.limit/2 {
			if _, cut, err := r.tree.fit(d); err == nil && cut {
				r.whole[d.ID] = d.Work
			}
		}
		return nil
	})
}

// fill takes in all that the hub has, and sends what it lacks.
func (r *round) fill(ctx context.Context, w jetstream.KeyWatcher) error {
	for complete := false; !complete; {
		var entries []jetstream.KeyValueEntry
		for len(entries) < takeAtOnce && !complete {
			select {
			case e, open := <-w.Updates():
				if !open {
					return errGone
				}
				if complete = e == nil; !complete {
					entries = append(entries, e)
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if _, err := r.receive(ctx, entries); err != nil {
			return err
		}
	}
	var lacking []merge.Doc
	send := func() error {
		err := r.send(ctx, lacking)
		lacking = nil
		return err
	}
	err := r.Tree.Known(ctx, func(d merge.Doc) error {
		if r.at[keyOf(d.ID)].has == nothing {
			lacking = append(lacking, d)
		}
		if len(lacking) < maxBatch {
			return nil
		}
		return send()
	})
	return errors.Join(err, send(), r.collect(ctx))
}

// receive takes in values of the hub and sends what they do not say. lost says that one is
// gone that this machine has.
func (r *round) receive(ctx context.Context, entries []jetstream.KeyValueEntry) (lost bool, err error) {
	var docs []merge.Doc
	index := map[string]int{}
	for _, e := range entries {
		was := r.at[e.Key()]
		if e.Revision() <= was.revision {
			continue // an echo of what this machine wrote
		}
		value := e.Value()
		if e.Operation() != jetstream.KeyValuePut {
			value = nil
		} else if value == nil {
			value = []byte{}
		}
		d, is := r.read(e.Key(), value, e.Revision())
		lost = lost || is == nothing && was.has == document
		if is != document {
			continue
		}
		if i, twice := index[d.ID]; twice {
			docs[i] = d
			continue
		}
		index[d.ID], docs = len(docs), append(docs, d)
	}
	if len(docs) == 0 {
		return lost, nil
	}
	owed, err := r.Tree.Take(ctx, docs)
	if err != nil {
		return lost, err
	}
	r.change(func(p *Progress) { p.Taken += len(docs) })
	return lost, r.send(ctx, owed)
}

// collect sends what was done here.
func (r *round) collect(ctx context.Context) error {
	docs, revision, err := r.Tree.Collect(ctx, r.seen)
	if sending := r.send(ctx, docs); err != nil || sending != nil {
		return errors.Join(err, sending)
	}
	r.seen = revision
	return nil
}
