package client

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
)

// A round is the knowledge of a hub's tree since one full watch began.
type round struct {
	*Syncer
	tree   *tree
	at     map[string]slot // what the hub has, by key
	newest uint64          // the highest revision that was seen
	failed int             // documents that the hub did not accept in this round
	unused map[string]bool // keys of values that this machine cannot use
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
	nothing  has = iota // a deletion marker, or garbage; this machine's document replaces it
	document            // a document that this machine has too
	unread              // a document that this machine refuses, or of a newer flame; it stays as it is
)

// seed is that of the sums of slots.
var seed = maphash.MakeSeed()

// note keeps what the hub has at a key.
func (r *round) note(key string, revision uint64, has has, value []byte) {
	r.at[key], r.newest = slot{revision, has, maphash.Bytes(seed, value)}, max(r.newest, revision)
}

// says reports whether the hub already has these bytes. Without this check, two machines that
// read them differently would overwrite each other forever.
func (s slot) says(value []byte) bool {
	return s.has == document && s.sum == maphash.Bytes(seed, value)
}

// send sends documents to the hub. It counts those that the hub does not accept; the next
// round sends them again. An error ends the round.
func (r *round) send(ctx context.Context, docs []merge.Doc) error {
	var all []outgoing
	for _, d := range docs {
		if o, due := r.prepare(d); due {
			all = append(all, o)
		}
	}
	for _, batch := range batchesOf(all) {
		if err := r.write(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// prepare returns what to send of a document. It is not due if the hub has it, it does not
// fit, or the hub has a version that this machine does not understand.
func (r *round) prepare(d merge.Doc) (o outgoing, due bool) {
	at := r.at[keyOf(d.ID)]
	if at.has == unread {
		return o, false
	}
	value, cut, err := r.tree.fit(d)
	if err != nil {
		r.tooLarge(d.ID, err)
		return o, false
	}
	if cut {
		r.whole[d.ID] = d.Work
	}
	return outgoing{doc: d, value: value, last: at.revision}, !at.says(value)
}

// write sends a batch to the hub.
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
		case isUnfinished(err), isCode(err, errCodeFull): // single writes find out why, and whether a smaller document fits
		case errors.As(err, &api) && api.Code == 400: // batches are not for this stream
			r.Log.Info("the hub accepts only single documents", "error", err)
			r.tree.batches = false
		case !IsMismatch(err):
			return r.refused(ctx, err, len(batch))
		}
	}
	var changed []outgoing
	failed, failure := 0, error(nil)
	r.tree.putEach(ctx, batch, func(o outgoing, revision uint64, err error) {
		switch {
		case err == nil:
			r.sent(o, revision)
		case IsMismatch(err):
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

// settle sends a document that another machine changed meanwhile, after taking in that
// change.
func (r *round) settle(ctx context.Context, o outgoing) error {
	for range settleTries {
		value, revision, err := r.tree.Last(ctx, keyOf(o.doc.ID))
		if err != nil {
			return r.refused(ctx, err, 1)
		}
		d := o.doc
		if came, has := r.read(keyOf(d.ID), value, revision); has == document {
			owed, err := r.Tree.Take(ctx, []merge.Doc{came})
			if err != nil || len(owed) == 0 {
				return err // the hub has all
			}
			d = owed[0]
		}
		var due bool
		if o, due = r.prepare(d); !due {
			return nil
		}
		if revision, err = r.tree.Replace(ctx, keyOf(o.doc.ID), o.value, o.last, 0); err == nil {
			r.sent(o, revision)
			return nil
		}
		if !IsMismatch(err) {
			return r.refused(ctx, err, 1)
		}
	}
	return r.refused(ctx, fmt.Errorf("%s keeps changing", o.doc.ID), 1)
}

// sent notes that the hub has a document.
func (r *round) sent(o outgoing, revision uint64) {
	r.note(keyOf(o.doc.ID), revision, document, o.value)
	r.change(func(p *hub.Progress) { p.Sent++ })
}

// refused notes that the hub did not take some documents. If the connection is lost, or the
// context has ended, that is returned.
func (r *round) refused(ctx context.Context, err error, count int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.failed += count
	r.fault(err)
	r.change(func(p *hub.Progress) { p.Waiting = r.failed })
	return nil
}

// tooLarge notes a document that is too large for the hub.
func (r *round) tooLarge(id string, err error) {
	r.change(func(p *hub.Progress) {
		if len(p.TooLarge) < maxNamed && !slices.Contains(p.TooLarge, id) {
			p.TooLarge = append(slices.Clip(p.TooLarge), id) // others read the one before
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

// skip notes whether this machine can use the value of a key, and logs once that it cannot.
func (r *round) skip(key string, err error) {
	if err == nil {
		delete(r.unused, key)
	} else {
		r.unused[key] = true
		if !r.told[key] && len(r.told) < maxNamed {
			r.told[key] = true
			r.Log.Warn("flame cannot use a value of the hub", "key", core.OneLine(key, 100), "error", err)
		}
	}
	r.change(func(p *hub.Progress) { p.Skipped = len(r.unused) })
}

// parse reads a value of the hub, which any machine may have written; nil means deleted. err
// says why this machine cannot use it.
func parse(key string, value []byte, now core.Millis) (d merge.Doc, is has, err error) {
	if value == nil {
		return d, nothing, nil
	}
	text, err := unzip(value)
	if err == nil {
		d, err = merge.Parse(text, now)
	}
	if err == nil && keyOf(d.ID) != key {
		err = core.Invalidf("it belongs to the frame %q", d.ID)
	}
	switch {
	case err == nil:
		return d, document, nil
	case errors.Is(err, merge.ErrNewer), claimsToBe(text, key):
		return d, unread, err
	}
	return d, nothing, err
}
