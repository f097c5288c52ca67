package hub

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// follow takes in what comes, and sends what is done here.
func (r *round) follow(ctx context.Context, w jetstream.KeyWatcher) error {
	look, stop := every(lookTime, r.Look)
	defer stop()
	check, stop := every(checkTime, r.Check)
	defer stop()
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
				return errGone
			}
			if lost, err := r.receive(ctx, more(w, e)); err != nil {
				return err
			} else if lost {
				r.failed++
			}
		case <-look:
			err = r.collect(ctx)
		case <-check:
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

// every returns a channel that tells when a time has passed, unless another one is given.
func every(d time.Duration, given <-chan time.Time) (<-chan time.Time, func()) {
	if given != nil {
		return given, func() {}
	}
	ticker := time.NewTicker(d)
	return ticker.C, ticker.Stop
}

// more returns an entry and those that came with it.
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

// A state is what the stream was like when it was looked at last.
type state struct {
	created time.Time
	stuck   int // how often nothing had come of what is there
	newest  uint64
}

// stuckChecks is how often nothing may have come before a watch is taken to be dead.
const stuckChecks = 3

// check returns errAnew if the hub lost its data while the connection stood, or the watch
// does not tell what is there.
func (r *round) check(ctx context.Context, was *state) error {
	s, err := r.tree.conn.js.Stream(ctx, "KV_"+r.tree.kv.Bucket())
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return errAnew
	case err != nil:
		return nil // if the connection is lost, that is told otherwise
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
