package project

import (
	"context"
	"errors"
	"time"

	"flame/core"
	"flame/core/outline"
	"flame/core/summaries"
)

// A Store keeps the data of a project. Its methods pass f a Tx that is valid only until f
// returns. To call one method inside another is an error. The Store detects it by the
// context of the Tx; with any other context it may wait for itself until its deadline.
type Store interface {
	// View runs f on one consistent snapshot. It creates nothing: a project without
	// data reads as empty.
	View(ctx context.Context, f func(Tx) error) error

	// Update runs f in one transaction: the Store keeps everything that f wrote, durably,
	// or nothing. f may run again after a conflict, so it acts on tx alone.
	Update(ctx context.Context, f func(Tx) error) error

	// Run is View if f writes nothing, and Update if it writes. A write may make f run
	// again from its beginning, so f acts on tx alone and returns the errors of tx.
	Run(ctx context.Context, f func(Tx) error) error
}

// A WaitMeter is a Store that measures how long its Updates waited for other writers.
type WaitMeter interface {
	Store

	// LockWait returns the total wait of this process's Updates.
	LockWait() time.Duration
}

// A Tx is one transaction on everything a project keeps.
type Tx interface {
	// Context returns the transaction's context, to be passed on by f.
	Context() context.Context

	Frames
	Relatives
	TreeLinks
	Sessions
	Events
	Deadlines
	Records
}

// Frames is the tree.
type Frames interface {
	// Frame returns one frame, or core.ErrNotFound.
	Frame(id string) (core.Frame, error)
	// FramesOf returns the frames that have these ids, in any order; those that are
	// missing are absent.
	FramesOf(ids []string) ([]core.Frame, error)
	// FindFrames returns the frames that q describes.
	FindFrames(q FrameQuery) ([]core.Frame, error)
	// CountFrames counts the frames that q describes, by status; it ignores q's
	// order and limit.
	CountFrames(q FrameQuery) (map[core.Status]int, error)
	// SaveFrame writes a new frame, or all fields of one that exists.
	SaveFrame(f core.Frame) error
	// InvalidateBelow applies c to the planned frames below top, at any depth, and appends e
	// about each. It returns the frames that the invalidation of top affects.
	InvalidateBelow(top string, c core.Cascade, e core.Event) (Invalidation, error)
	// DeleteFrame removes a frame. It refuses one with children: core.ErrInvalid.
	DeleteFrame(id string) error
	// Revision returns a number that rises with every Update that writes a frame, and
	// the newest UpdatedAt of any frame.
	Revision() (revision int64, newest core.Millis, err error)
}

// Relatives are the frames around others.
type Relatives interface {
	// Ancestors returns the frames above id, parent first, at most limit of them
	// (0: MaxLevels). It ends at a missing parent and never loops.
	Ancestors(id string, limit int) ([]core.Frame, error)
	// WithChildren returns the ids among these that frames, also archived ones, name as
	// their parent, in any order. A frame with such an id need not exist.
	WithChildren(ids []string) ([]string, error)
	// UsageUnder adds up the usage of frame id and of those below it, archived ones too.
	// It reads most frames and one more; whole is false if there are others. With an empty
	// id it adds up all frames.
	UsageUnder(id string, most int) (u core.Usage, whole bool, err error)
	// Surroundings returns the frames around frame id, at most as many of each kind as
	// most allows. Children, Siblings and Uncles (ancestor by ancestor) are frames that
	// ended and are not archived, the latest change first. Other roots are siblings of
	// a root, and never uncles. Planned are planned children that are not archived,
	// oldest first. Fields that contexts do not show may be missing: results, usage,
	// planned children, confidence, and the times at which a frame began, ended and was
	// invalidated.
	Surroundings(id string, most RelativesLimit) (core.ContextInput, error)
	// Outcomes returns the frames that ended and that of describes. In a cycle some occur
	// more than once. It leaves out archived frames, and the fields that Surroundings leaves
	// out except usage and times. It cuts the end of a long summary.
	Outcomes(of OutcomeQuery) (summaries.EndedByParent, error)
}

// OutcomeQuery says which frames Outcomes returns: below each parent those that changed last.
type OutcomeQuery struct {
	Below      []string // ids: the frames below these, as far down as no frame on the way has a summary (summaries.MaxLevels at most)
	Summarized []string // ids: the frames directly below these that have decisions, if they are among the last to change
	All        string   // id: all frames below this one, and for each parent as many that are planned or in progress; Below and Summarized are empty then
	Each       int      // limit for one parent
	Limit      int      // limit in all, the nearest first
}

// An Invalidation is the frames below an invalidated one that it affects, in the order of
// core.Descendants. Their keys are those of TreeLinks.
type Invalidation struct {
	Planned    []int64 // these were planned, and are invalidated now
	InProgress []int64 // these continue
}

// MaxLevels is the greatest number of ancestors that flame reads.
const MaxLevels = 10_000

// RelativesLimit limits the number of frames that Surroundings returns.
type RelativesLimit struct {
	Ancestors int
	Near      int // children, siblings (the frame itself counts if it ended) and planned children, each
	Uncles    int // beside each ancestor (which counts if it ended)
	Tiers     int // ancestors with uncles, the parent first
}

// TreeLinks is the tree without the content of its frames. Keys identify the frames: numbers
// that mean nothing outside of the store.
type TreeLinks interface {
	// Links returns the links of the frames that q describes, siblings in the order of
	// their creation. It uses only Under, Roots, Archived and Limit of q.
	Links(q FrameQuery) ([]outline.Link, error)
	// FramesAt returns the frames that have these keys; those that are gone are
	// absent.
	FramesAt(keys []int64) (map[int64]core.Frame, error)
	// FramesChangedSince returns the frames that were written after a revision (see
	// Frames.Revision), in any order, archived ones too, without their longer texts:
	// planned children, success criteria, artifacts, decisions, summary and results are
	// absent. It returns all frames after revision 0, and after a revision that is not reached
	// yet. It does not report deleted frames: the Revision rises, and there are fewer frames.
	FramesChangedSince(after int64) ([]core.Frame, error)
	// FrameIDs returns the ids of all frames, archived ones too, in any order.
	FrameIDs() ([]string, error)
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
	Prefix   string        // ids that begin with this
	Goal     string        // exactly this goal, but for the case of ASCII letters
	Statuses []core.Status // any of these
	Text     string        // words in goal, success criteria, summary, results or decisions; the first SaveFrame then counts as creation
	Archived bool          // archived frames too
	Order    FrameOrder
	After    string // for paging: only frames after this one, which must exist, in OldestFirst order, or with greater ids in ByID order
	Limit    int    // the greatest number; 0: all
}

// Sessions are the conversations that work in the tree.
type Sessions interface {
	// Session returns one session, or core.ErrNotFound.
	Session(id string) (core.Session, error)
	// FindSessions returns the sessions that q describes, latest activity first.
	FindSessions(q SessionQuery) ([]core.Session, error)
	// SaveSession writes a new session, or all fields of one that exists.
	SaveSession(s core.Session) error
	// DeleteSession deletes a session; its frames and events stay.
	DeleteSession(id string) error
}

// A SessionQuery says which sessions to list. Empty fields do not restrict.
type SessionQuery struct {
	Tracked         bool        // tracked child sessions only
	Children        bool        // tracked child sessions, and ones that have a frame
	CompletedBefore core.Millis // completed ones only, whose last activity is older than this
	Live            bool        // ones without a parent that have not ended
	Parent          string      // children of this session
	Current         string      // sessions whose current frame is this one
	Limit           int
}

// Events is the append-only log.
type Events interface {
	// AppendEvent writes e, and then more, each with the next Seq, and returns the last Seq.
	// One call for many events is faster than a call for each.
	AppendEvent(e core.Event, more ...core.Event) (seq int64, err error)
	// FindEvents returns the events that q describes, oldest first.
	FindEvents(q EventQuery) ([]core.Event, error)
	// DeleteEventsBefore removes at most limit events older than t, the oldest first,
	// and returns their number.
	DeleteEventsBefore(t core.Millis, limit int) (int, error)
}

// An EventQuery says which events to list. Empty fields do not restrict.
type EventQuery struct {
	AfterSeq   int64
	Since      core.Millis // at this time or later
	Frame      string
	Session    string
	Below      string // events of the agents and subagents that this session started; with Session, of either
	SubagentID string
	Kinds      []string
	Limit      int  // the greatest number; 0: all
	Last       bool // with Limit: the last ones rather than the first, still oldest first
}

// A Deadline is work that is due at some time. (Kind, Subject) is its key.
type Deadline struct {
	Kind    string      // what to do
	Subject string      // the session or frame to do it to
	Due     core.Millis // when
	Set     core.Millis // when it was set, to detect a jump of the clock
}

// Deadlines is the work that waits for its time.
type Deadlines interface {
	// DueDeadlines returns the deadlines due at or before now, earliest first. The
	// argument only restricts them to one kind, but excludes one; either may be empty.
	DueDeadlines(now core.Millis, only, but string, limit int) ([]Deadline, error)
	// Deadline returns a deadline; ok is false if it is not set.
	Deadline(kind, subject string) (d Deadline, ok bool, err error)
	// SetDeadline adds a deadline, or moves it.
	SetDeadline(d Deadline) error
	// ClearDeadline removes a deadline, if it is set.
	ClearDeadline(kind, subject string) error
}

// RecordQuery selects records of a kind; the zero value selects all.
type RecordQuery struct {
	Prefix   string   // of their ids
	IDs      []string // their ids; nil: the others decide
	Column   string   // of the kind's own table, in place of Prefix
	From, To any      // the values of Column, these two included
}

// Records are small JSON documents by kind and id. A kind with a dot is a part of a record: all that
// has the same name before the dot and the same id is one record, which a transaction reads and
// writes once.
type Records interface {
	// Record decodes a record into v and reports whether it exists.
	Record(kind, id string, v any) (bool, error)
	// Records calls f for each of these records of a kind, in order of Column or id.
	Records(kind string, which RecordQuery, f func(id string, decode func(v any) error) error) error
	// SaveRecord writes a record.
	SaveRecord(kind, id string, v any) error
	// DeleteRecord removes a record, if it exists.
	DeleteRecord(kind, id string) error
}

// Filter returns the items that pass a test that may fail, as one that reads the Store may.
// It reuses the memory of items.
func Filter[T any](items []T, test func(T) (bool, error)) ([]T, error) {
	kept := items[:0]
	for _, item := range items {
		passes, err := test(item)
		if err != nil {
			return nil, err
		}
		if passes {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

// IgnoreMissing returns err, or nil if it is core.ErrNotFound: events may refer to frames
// and sessions that no longer exist.
func IgnoreMissing(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}
