package hub

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"flame/core"
	"flame/core/merge"
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

// A Tree is a project's part in the tree of several machines, as a shared.Tree.
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
	progress Progress
}

// Progress is the progress of syncing a machine with its hub.
type Progress struct {
	Complete bool     `json:"complete"`           // this machine has read the hub's tree and sent the frames missing there
	Taken    int      `json:"taken"`              // received documents
	Sent     int      `json:"sent"`               // sent documents
	Waiting  int      `json:"waiting"`            // documents that the hub did not accept
	Skipped  int      `json:"skipped"`            // values of the hub that are not documents, that this machine refuses, or that are newer than this flame
	TooLarge []string `json:"tooLarge,omitempty"` // ids of frames that are too large for the hub
	Fault    error    `json:"-"`                  // the last one of this round
}

// Progress returns the current progress.
func (s *Syncer) Progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress
}

func (s *Syncer) change(f func(*Progress)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.progress)
}

// fault notes an error, and logs it unless it is the same as the one before.
func (s *Syncer) fault(err error) {
	s.change(func(p *Progress) {
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
	s.change(func(p *Progress) { *p = Progress{Taken: p.Taken, Sent: p.Sent} })
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
	s.change(func(p *Progress) { p.Complete = true })
	return r.follow(ctx, w)
}
