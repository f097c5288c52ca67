package project

import (
	"context"
	"time"

	"flame/core"
)

// A Store keeps what a project must not forget. Its methods give f a Tx that
// is good only until f returns. Calling one inside another is an error, which a Store tells by the context of the Tx; with any other context it
// may wait for itself until its deadline.
type Store interface {
	// View runs f on one consistent snapshot. It creates nothing: a project
	// without data is empty.
	View(ctx context.Context, f func(Tx) error) error

	// Update runs f in one transaction: all that f wrote is kept, durably, or
	// nothing is. f may run again after a conflict, so it acts on tx alone.
	Update(ctx context.Context, f func(Tx) error) error

	// Run is View for an f that writes nothing, and Update for one that does, which
	// only f knows. A write may have f run again from its beginning, so it acts on tx
	// alone, and lets errors of tx end it.
	Run(ctx context.Context, f func(Tx) error) error
}

// A Waiter is a Store that tells how long its Updates have waited for other writers,
// all together, as far as this process made them.
type Waiter interface {
	Store

	Waited() time.Duration
}

// A Tx is one transaction on everything a project keeps.
type Tx interface {
	// Context is that of the transaction, to pass on to what f calls.
	Context() context.Context

	Frames
	Shape
	Cascades
	Sessions
	Events
	Deadlines
	Records
}

// Frames is the tree.
type Frames interface {
	// Frame returns one frame, or core.ErrNotFound.
	Frame(id string) (core.Frame, error)
	// FindFrames returns the frames that q describes.
	FindFrames(q FrameQuery) ([]core.Frame, error)
	// CountFrames counts the frames that q describes, by status; q's order and
	// limit play no part.
	CountFrames(q FrameQuery) (map[core.Status]int, error)
	// CountChildren counts the children of each of these frames by status;
	// archived ones do not count. Frames without children are absent.
	CountChildren(parents []string) (map[string]map[core.Status]int, error)
	// Ancestors returns the frames above id, parent first, at most limit of them
	// (0: MaxLevels). It ends at a missing parent and never loops.
	Ancestors(id string, limit int) ([]core.Frame, error)
	// Surroundings returns what lies around frame id, at most so many of each:
	// Ancestors, and of the frames that ended and are not archived those that
	// changed last, latest first, as Children, as Siblings and, for one ancestor after
	// the other, as Uncles. Other roots are siblings of a root and nobody's uncles.
	// Planned are the oldest planned children that are not archived, oldest first.
	// Frames need not have what contexts do not tell: decisions, results, usage, the
	// plan of children, confidence, and when they began, ended and were invalidated.
	Surroundings(id string, most Most) (core.Surroundings, error)
	// SaveFrame writes a new frame, or all fields of one that exists. One that
	// only reads as invalidated, by a cascade, is left for that to settle.
	SaveFrame(f core.Frame) error
	// DeleteFrame removes a frame that has no children, or refuses with
	// core.ErrInvalid.
	DeleteFrame(id string) error
	// TotalUsage adds up the usage of all frames.
	TotalUsage() (core.Usage, error)
	// Revision returns a number that every Update that wrote a frame raises, and
	// the newest UpdatedAt of any frame.
	Revision() (revision int64, newest core.Millis, err error)
}

// MaxLevels is how many frames above one are read at most.
const MaxLevels = 10_000

// Most is how many frames Surroundings returns at most.
type Most struct {
	Ancestors int
	Near      int // children, siblings (the frame itself counts if it ended) and planned children, each
	Uncles    int // beside each ancestor (which counts if it ended)
	Tiers     int // ancestors with uncles, the parent first
}

// Shape is the tree without what is in its frames, which go by numbers here: keys
// that mean nothing outside of the store.
type Shape interface {
	// Links returns the links of the frames that q describes; those with the same
	// parent stand in the order in which they were made. Of q, Under, Roots,
	// Archived and Limit count.
	Links(q FrameQuery) ([]core.Link, error)
	// FramesAt returns the frames that have these keys; those that are gone are
	// absent.
	FramesAt(keys []int64) (map[int64]core.Frame, error)
}

// Cascades are the invalidations under way. From BeginCascade to EndCascade every
// frame that is planned below a cascade's frame reads as invalidated by it, in every
// transaction of every process, however much of that is stored yet. Where several
// apply, the first begun does.
type Cascades interface {
	// Cascades returns those under way, the first begun first.
	Cascades() ([]Cascade, error)
	// BeginCascade begins one, unless one of the same frame is under way.
	BeginCascade(c Cascade) error
	// PutOffCascade sets when others may go on with the cascade of frame.
	PutOffCascade(frame string, due core.Millis) error
	// Settle stores up to limit of the frames that read as invalidated by the
	// cascade of frame as they read, appends e about each, and returns their ids.
	// When more is false, none was left.
	Settle(frame string, e core.Event, limit int) (ids []string, more bool, err error)
	// EndCascade forgets the cascade of frame.
	EndCascade(frame string) error
	// OpenBelow looks at some frames in progress, the latest change first, and
	// returns the ids of those below top. It begins at from, which is empty at
	// first, and says where to go on; at the end that is empty.
	OpenBelow(top, from string) (ids []string, next string, err error)
}

// A Cascade is an invalidation under way below one frame.
type Cascade struct {
	core.Cascade
	Frame   string      // which
	Session string      // that asked for it, for its events
	Agent   string      // likewise
	Due     core.Millis // when others may go on with it; whoever does it puts that off each time
	Settled int         // frames stored as invalidated so far
}

// FrameOrder is the order of a list of frames.
type FrameOrder int

// The orders of a list of frames.
const (
	OldestFirst FrameOrder = iota // by creation
	NewestFirst                   // by creation, newest first
	RecentFirst                   // by last change, newest first
	ByID                          // by id, whatever their status; frames without one are absent
)

// A FrameQuery says which frames to list. Empty fields do not restrict.
type FrameQuery struct {
	Parent   string        // children of this frame
	Roots    bool          // frames without a parent
	Under    string        // this frame and all below it
	Prefix   string        // ids that begin so
	Statuses []core.Status // any of these
	Text     string        // words that goal, success criteria, summary, results or decisions hold; creation is then the first SaveFrame
	Archived bool          // archived frames too
	Order    FrameOrder
	After    string // only frames after this one, in OldestFirst order, or with greater ids, in that ByID (for paging through all)
	Limit    int    // at most so many; 0: all
}

// Sessions are the conversations that work in the tree.
type Sessions interface {
	// Session returns one session, or core.ErrNotFound.
	Session(id string) (core.Session, error)
	// FindSessions returns the sessions that q describes, latest activity first.
	FindSessions(q SessionQuery) ([]core.Session, error)
	// SaveSession writes a new session, or all fields of one that exists.
	SaveSession(s core.Session) error
	// DeleteSession forgets a session; its frames and events stay.
	DeleteSession(id string) error
}

// A SessionQuery says which sessions to list. Empty fields do not restrict.
type SessionQuery struct {
	Tracked         bool        // tracked child sessions only
	CompletedBefore core.Millis // completed ones only, with no activity from then on
	Parent          string      // children of this session
	Current         string      // sessions whose current frame is this one
	Limit           int
}

// Events is the append-only log.
type Events interface {
	// AppendEvent writes e with the next Seq and returns that.
	AppendEvent(e core.Event) (seq int64, err error)
	// FindEvents returns the events that q describes, oldest first.
	FindEvents(q EventQuery) ([]core.Event, error)
	// DeleteEventsBefore removes at most limit of those older than t, the oldest
	// first, and returns their number.
	DeleteEventsBefore(t core.Millis, limit int) (int, error)
}

// An EventQuery says which events to list. Empty fields do not restrict.
type EventQuery struct {
	AfterSeq   int64
	Since      core.Millis // of this time or later
	Frame      string
	Session    string
	Below      string // of the agents and subagents that this session started; with Session, of either
	SubagentID string
	Kinds      []string
	Limit      int  // at most so many; 0: all
	Last       bool // with Limit: the last ones rather than the first, still oldest first
}

// A Deadline is a thing that is due at some time. (Kind, Subject) is its key.
type Deadline struct {
	Kind    string      // what is to be done
	Subject string      // to which session or frame
	Due     core.Millis // when
	Set     core.Millis // when it was set, to tell a jump of the clock
}

// Deadlines is the work that waits for its time.
type Deadlines interface {
	// DueDeadlines returns those due at or before now, earliest first. Only restricts
	// them to one kind, but leaves one out; either may be empty.
	DueDeadlines(now core.Millis, only, but string, limit int) ([]Deadline, error)
	// Deadline returns one; ok is false where it is not set.
	Deadline(kind, subject string) (d Deadline, ok bool, err error)
	// SetDeadline adds a deadline, or moves it.
	SetDeadline(d Deadline) error
	// ClearDeadline removes one; clearing none is no error.
	ClearDeadline(kind, subject string) error
}

// Records are small JSON documents by kind and id: settings, counters,
// suggestions, pending completions, marks of what was seen.
type Records interface {
	// Record decodes one into v and reports whether it exists.
	Record(kind, id string, v any) (bool, error)
	// Records calls f for each of a kind whose id begins with prefix, in order of id.
	Records(kind, prefix string, f func(id string, decode func(v any) error) error) error
	// RecordsOf returns the ids of those of a kind whose field parent is this, in order.
	// Spawns are found without a look at the others.
	RecordsOf(kind, parent string) (ids []string, err error)
	// SaveRecord writes one.
	SaveRecord(kind, id string, v any) error
	// DeleteRecord removes one; removing none is no error.
	DeleteRecord(kind, id string) error
}
