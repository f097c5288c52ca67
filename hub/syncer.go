package hub

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"flame/core"
	"flame/core/merge"
)

// The times of a round.
const (
	lookTime   = 250 * time.Millisecond // between two looks at what was done here
	checkTime  = 5 * time.Second        // between two looks at whether the hub is what it was
	firstRetry = 2 * time.Second
	lastRetry  = 5 * time.Minute
)

// Limits of what is done at once.
const (
	takeAtOnce = 500 // documents
	maxNamed   = 100 // frames that are too large
)

// errAnew has a round begin anew.
var errAnew = errors.New("the hub's tree is read anew")

// errGone is the end of a connection.
var errGone = core.Unavailablef(nats.ErrConnectionClosed, "the connection to the hub is lost")

// A Tree is a project's part in the tree that several machines have. What its methods do is
// told at those of package project/shared, with whose functions TreeOf makes one.
type Tree interface {
	Collect(ctx context.Context, after int64) (docs []merge.Doc, revision int64, err error)
	Take(ctx context.Context, docs []merge.Doc) (owed []merge.Doc, err error)
	Known(ctx context.Context, f func(merge.Doc) error) error
}

// A Syncer keeps the tree of a machine and that of its hub alike. The last three need
// not be set.
type Syncer struct {
	Tree Tree
	Log  *slog.Logger
	Now  func() core.Millis

	Look  <-chan time.Time // when to look at what was done here; nil: four times a second
	Check <-chan time.Time // when to look whether the hub is what it was; nil: every five seconds
	Retry time.Duration    // until what the hub did not take is tried again, doubled each time; 0: two seconds

	seen  int64                 // revision of the store up to which the hub was told
	whole map[string]merge.Work // of frames whose results the hub has no room for
	told  map[string]bool       // keys of values that are of no use here, which were logged
	retry time.Duration

	mu       sync.Mutex
	progress Progress
}

// Progress is how far a machine and its hub are alike.
type Progress struct {
	Complete bool            // the hub's tree was read, and what it lacked was sent
	Taken    int             // documents that came
	Sent     int             // documents that were sent
	Waiting  int             // documents that the hub did not take
	Skipped  int             // values of the hub that are no documents, that this machine refuses, or newer than this flame
	TooLarge map[string]bool // ids of frames that the hub has no room for
	Error    error           // the last thing that went wrong in this round
}

// Progress returns how far it is.
func (s *Syncer) Progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.progress
	p.TooLarge = maps.Clone(p.TooLarge)
	return p
}

func (s *Syncer) change(f func(*Progress)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.progress)
}

// fault notes what went wrong, and logs it once in a row.
func (s *Syncer) fault(err error) {
	s.change(func(p *Progress) {
		if p.Error == nil || p.Error.Error() != err.Error() {
			s.Log.Warn("the hub did not take what was done here", "error", err)
		}
		p.Error = err
	})
}
