package hub

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
)

// A round is what is known of a hub's tree from one full watch on.
type round struct {
	*Syncer
	tree   *tree
	at     map[string]slot // what the hub has, by key
	newest uint64          // the highest revision that was seen
	failed int             // documents that the hub did not take in this round
	unused map[string]bool // keys of values of which this machine can make no use
}

// A slot is what the hub has at a key.
type slot struct {
	revision uint64
	has      has
	sum      uint64 // of its bytes
}

// has says what a value is.
type has int

const (
	nothing  has = iota // a marker that it was deleted, or garbage; what this machine has replaces it
	document            // one that this machine has too
	unread              // one that this machine refuses, or of a newer flame, which is left alone
)

// seed is that of the sums of slots.
var seed = maphash.MakeSeed()

// note keeps what the hub has at a key.
func (r *round) note(key string, revision uint64, has has, value []byte) {
	r.at[key], r.newest = slot{revision, has, maphash.Bytes(seed, value)}, max(r.newest, revision)
}

// says reports whether the hub has these bytes already. Two machines that disagree on what
// they say would write them for ever.
func (s slot) says(value []byte) bool {
	return s.has == document && s.sum == maphash.Bytes(seed, value)
}

// send brings documents to the hub. Those that it does not take are counted; they are tried
// again in the next round. An error ends the round.
func (r *round) send(ctx context.Context, docs []merge.Doc) error {
	var all []outgoing
	for _, d := range docs {
		at := r.at[keyOf(d.ID)]
		if at.has == unread {
			continue
		}
		value, cut, err := r.tree.fit(d)
		if err != nil {
			r.tooLarge(d.ID, err)
			continue
		}
		if cut {
			r.whole[d.ID] = d.Work
		}
		if !at.says(value) {
			all = append(all, outgoing{doc: d, value: value, last: at.revision})
		}
	}
	for _, batch := range batchesOf(all) {
		if err := r.write(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// write brings a batch to the hub.
func (r *round) write(ctx context.Context, batch []outgoing) error {
	if len(batch) > 1 && r.tree.batches {
		first, err := r.tree.putTogether(ctx, batch)
		var api *jetstream.APIError
		switch {
		case err == nil:
			for i, o := range batch {
				r.sent(o, first+uint64(i))
			}
			return nil
		case isUnfinished(err), isCode(err, errCodeFull): // why, and whether a smaller one fits, is told to those that are written alone
		case errors.As(err, &api) && api.Code == 400: // batches are not for this stream
			r.Log.Info("the hub takes documents one by one only", "error", err)
			r.tree.batches = false
		case !errors.Is(err, errChanged):
			return r.refused(ctx, err, len(batch))
		}
	}
	var changed []outgoing
	failed, failure := 0, error(nil)
	r.tree.putEach(ctx, batch, func(o outgoing, revision uint64, err error) {
		switch {
		case err == nil:
			r.sent(o, revision)
		case errors.Is(err, errChanged):
			changed = append(changed, o)
		default:
			failed, failure = failed+1, err
		}
	})
	if failed > 0 {
		if err := r.refused(ctx, failure, failed); err != nil {
			return err
		}
	}
	for _, o := range changed {
		if err := r.settle(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// settleTries is how often a document is sent that changes on the hub meanwhile.
const settleTries = 8

// settle brings a document to the hub that another machine changed meanwhile: first what
// the other wrote is taken in.
func (r *round) settle(ctx context.Context, o outgoing) error {
	for range settleTries {
		value, revision, err := r.tree.last(ctx, keyOf(o.doc.ID))
		if err != nil {
			return r.refused(ctx, err, 1)
		}
		d, has := r.read(keyOf(o.doc.ID), value, revision)
		if has == unread {
			return nil
		}
		if o.last = revision; has == document {
			owed, err := r.Tree.Take(ctx, []merge.Doc{d})
			if err != nil || len(owed) == 0 {
				return err // the hub has all
			}
			o.doc = owed[0]
		}
		var cut bool
		if o.value, cut, err = r.tree.fit(o.doc); err != nil {
			r.tooLarge(o.doc.ID, err)
			return nil
		}
		if cut {
			r.whole[o.doc.ID] = o.doc.Work
		}
		if r.at[keyOf(o.doc.ID)].says(o.value) {
			return nil
		}
		if revision, err = r.tree.put(ctx, o); err == nil {
			r.sent(o, revision)
			return nil
		}
		if !errors.Is(err, errChanged) {
			return r.refused(ctx, err, 1)
		}
	}
	return r.refused(ctx, fmt.Errorf("%s changes all the time", o.doc.ID), 1)
}

// sent notes that the hub has a document.
func (r *round) sent(o outgoing, revision uint64) {
	r.note(keyOf(o.doc.ID), revision, document, o.value)
	r.change(func(p *Progress) { p.Sent++ })
}

// refused notes that the hub did not take some documents. If the connection is lost, or the
// context has ended, that is returned.
func (r *round) refused(ctx context.Context, err error, count int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.failed += count
	r.fault(err)
	r.change(func(p *Progress) { p.Waiting = r.failed })
	return nil
}

// tooLarge notes a document that no hub of this size can take.
func (r *round) tooLarge(id string, err error) {
	r.change(func(p *Progress) {
		if p.TooLarge == nil {
			p.TooLarge = map[string]bool{}
		}
		if len(p.TooLarge) < maxNamed && !p.TooLarge[id] {
			p.TooLarge[id] = true
			r.Log.Warn("a frame is too large for the hub", "frame", id, "error", err)
		}
	})
}

// read reads a value of the hub, and notes what it is.
func (r *round) read(key string, value []byte, revision uint64) (merge.Doc, has) {
	d, is, err := parse(key, value, r.Now())
	r.note(key, revision, is, value)
	r.skip(key, err)
	if is != document {
		return d, is
	}
	if was, known := r.whole[d.ID]; known && d.Work.Results == "" && was.Term == d.Work.Term && was.Stamp == d.Work.Stamp {
		d.Work.Results = was.Results // it was cut off on its way
	}
	return d, is
}

// skip notes whether this machine can make use of what the hub has at a key. What it cannot
// use is logged once.
func (r *round) skip(key string, err error) {
	if err == nil {
		delete(r.unused, key)
	} else {
		r.unused[key] = true
		if !r.told[key] && len(r.told) < maxNamed {
			r.told[key] = true
			r.Log.Warn("what the hub has is not all of use", "key", core.OneLine(key, 100), "error", err)
		}
	}
	r.change(func(p *Progress) { p.Skipped = len(r.unused) })
}

// parse reads a value of the hub, which anybody may have written; nil was deleted. err says
// why it is no document that this machine uses.
func parse(key string, value []byte, now core.Millis) (d merge.Doc, is has, err error) {
	if value == nil {
		return d, nothing, nil
	}
	text, err := unzip(value)
	if err == nil {
		d, err = merge.Parse(text, now)
	}
	if err == nil && keyOf(d.ID) != key {
		err = core.Invalidf("it is of the frame %q", d.ID)
	}
	switch {
	case err == nil:
		return d, document, nil
	case errors.Is(err, merge.ErrNewer), claimsToBe(text, key):
		return d, unread, err
	}
	return d, nothing, err
}
