package client

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
)

// The times of a round.
const (
	lookTime   = 250 * time.Millisecond // between two checks for local changes
	checkTime  = 5 * time.Second        // between two checks that the hub still has its data
	firstRetry = 2 * time.Second
	lastRetry  = 5 * time.Minute
)

// Limits of one step.
const (
	takeAtOnce = 500 // documents
	maxNamed   = 100 // frames that are too large
)

// errAnew starts a new round.
var errAnew = errors.New("flame reads the hub's tree again")

// ErrGone is the end of a connection.
var ErrGone = core.Unavailablef(nats.ErrConnectionClosed, "the connection to the hub is lost")

// A Tree is a project's part in the tree of several machines, as a transfer.SharedTree.
type Tree interface {
	Collect(ctx context.Context, after int64) (docs []merge.Doc, revision int64, err error)
	Take(ctx context.Context, docs []merge.Doc) (owed []merge.Doc, err error)
	Known(ctx context.Context, f func(merge.Doc) error) error
}

// A Syncer keeps the trees of a machine and of its hub the same. Check and Retry are optional.
type Syncer struct {
	Tree Tree
	Log  *slog.Logger
	Now  func() core.Millis

	Check <-chan time.Time // when to check that the hub still has its data; nil: every five seconds
	Retry time.Duration    // until the next attempt to send what the hub did not accept, doubled each time; 0: two seconds

	seen  int64                        // revision of the store up to which changes were sent
	whole map[string]merge.OwnerFields // by frame, results that are too large for the hub
	told  map[string]bool              // keys of unusable values that were logged
	retry time.Duration

	mu       sync.Mutex
	progress hub.Progress
}

// Progress returns the current progress.
func (s *Syncer) Progress() hub.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress
}

func (s *Syncer) change(f func(*hub.Progress)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.progress)
}

// fault notes an error, and logs it unless it is the same as the one before.
func (s *Syncer) fault(err error) {
	s.change(func(p *hub.Progress) {
		if p.Fault == nil || p.Fault.Error() != err.Error() {
			s.Log.Warn("the hub did not accept this machine's changes", "error", err)
		}
		p.Fault = err
	})
}

// Run sends changes of this machine to the hub and stores those of others, until ctx ends or the
// connection is lost. It begins with all documents of both sides, even if an earlier connection
// has exchanged them: the hub may have lost its data since.
func (s *Syncer) Run(ctx context.Context, c *Conn) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-c.Gone():
			stop(ErrGone)
		case <-ctx.Done():
		}
	}()
	if s.whole == nil {
		s.whole, s.told = map[string]merge.OwnerFields{}, map[string]bool{}
	}
	for {
		err := s.round(ctx, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, errAnew) {
			return err
		}
	}
}

// round reads the hub's whole tree and follows it from there.
func (s *Syncer) round(ctx context.Context, c *Conn) (err error) {
	t, err := c.tree(ctx)
	if err != nil {
		return err
	}
	r := &round{Syncer: s, tree: t, at: map[string]slot{}, unused: map[string]bool{}}
	s.change(func(p *hub.Progress) { *p = hub.Progress{Taken: p.Taken, Sent: p.Sent} })
	if err := r.findCut(ctx); err != nil {
		return err
	}
	w, err := t.WatchAll(ctx)
	if err != nil {
		return c.Told(err)
	}
	defer func() { _ = w.Stop() }() // with the connection lost, it has ended by itself
	if err := r.fill(ctx, w); err != nil {
		return err
	}
	s.change(func(p *hub.Progress) { p.Complete = true })
	return r.follow(ctx, w)
}

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
	r.change(func(p *hub.Progress) { p.Taken += len(docs) })
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
