package hub

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core/merge"
)

// follow stores new documents of the hub and sends changes of this machine.
func (r *round) follow(ctx context.Context, w jetstream.KeyWatcher) error {
	look, check := time.NewTicker(lookTime), time.NewTicker(checkTime)
	defer look.Stop()
	defer check.Stop()
	checks := r.Check
	if checks == nil {
		checks = check.C
	}
	var anew <-chan time.Time
	looking := &state{}
	for {
		if r.failed > 0 && anew == nil {
			r.retry = min(max(cmp.Or(r.Retry, firstRetry), 2*r.retry), lastRetry)
			anew = time.After(r.retry)
		}
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, open := <-w.Updates():
			if !open {
				return ErrGone
			}
			if lost, err := r.receive(ctx, more(w, e)); err != nil {
				return err
			} else if lost {
				r.failed++
			}
		case <-look.C:
			err = r.collect(ctx)
		case <-checks:
			if err = r.check(ctx, looking); err == nil && r.failed == 0 {
				r.retry = 0 // the round has lasted
			}
		case <-anew:
			err = errAnew
		}
		if err != nil {
			return err
		}
	}
}

// more returns an entry and those that have arrived behind it.
func more(w jetstream.KeyWatcher, e jetstream.KeyValueEntry) []jetstream.KeyValueEntry {
	var entries []jetstream.KeyValueEntry
	for {
		if e != nil {
			entries = append(entries, e)
		}
		if len(entries) == takeAtOnce {
			return entries
		}
		select {
		case next, open := <-w.Updates():
			if !open {
				return entries
			}
			e = next
		default:
			return entries
		}
	}
}

// A state is the state of the stream at the last check.
type state struct {
	created time.Time
	stuck   int // checks in a row at which the watch lagged behind the stream
	newest  uint64
}

// stuckChecks is how many checks a watch may lag before it counts as dead.
const stuckChecks = 3

// check returns errAnew if the hub lost its data during the connection, or the watch has
// stopped delivering.
func (r *round) check(ctx context.Context, was *state) error {
	s, err := r.tree.conn.js.Stream(ctx, "KV_"+r.tree.Bucket.Bucket())
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return errAnew
	case err != nil:
		return nil // the loss of the connection is reported elsewhere
	}
	info := s.CachedInfo()
	if was.created.IsZero() {
		was.created = info.Created
	}
	if was.stuck++; info.State.LastSeq <= r.newest || was.newest != r.newest {
		was.stuck, was.newest = 0, r.newest
	}
	if !info.Created.Equal(was.created) || info.State.LastSeq < r.newest || was.stuck >= stuckChecks {
		return errAnew
	}
	return nil
}

// findCut finds the frames whose results are too large for the hub.
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

// fill stores all documents of the hub, and sends those that the hub lacks.
func (r *round) fill(ctx context.Context, w jetstream.KeyWatcher) error {
	for complete := false; !complete; {
		var entries []jetstream.KeyValueEntry
		for len(entries) < takeAtOnce && !complete {
			select {
			case e, open := <-w.Updates():
				if !open {
					return ErrGone
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

// receive stores values of the hub, and sends what only this machine knows. lost
// reports that the hub has lost a document that this machine has.
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

// collect sends the changes of this machine.
func (r *round) collect(ctx context.Context) error {
	docs, revision, err := r.Tree.Collect(ctx, r.seen)
	if sending := r.send(ctx, docs); err != nil || sending != nil {
		return errors.Join(err, sending)
	}
	r.seen = revision
	return nil
}
