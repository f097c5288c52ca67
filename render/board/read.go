package board

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/core"
	"flame/core/outline"
	"flame/project"
)

// Read reads the changes that the project's processes made since the last call. It reports
// whether there are any. After an error the board is as it was.
func (b *Board) Read(ctx context.Context) (changed bool, err error) {
	b.reads.Lock()
	defer b.reads.Unlock()
	var r readResult
	if err := b.store.View(ctx, func(tx project.Tx) error {
		r = readResult{readPosition: b.seen, board: b}
		return r.read(tx)
	}); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.begins {
		b.forget()
	}
	before := b.version
	b.take(r)
	return b.version > before || r.begins, nil
}

// noticed is how many new events a reading handles; with more, the board starts over.
const noticed = 5000

// A readResult is the result of one transaction.
type readResult struct {
	readPosition
	begins bool // it read everything

	board *Board // before the reading; empty if it reads everything

	frames      []core.Frame
	short       map[string]bool // those of turns, by id: whether the turn was short
	gone        []string        // ids of frames that were deleted
	sessions    []core.Session  // of the frames, and native subagents
	live        []core.Session
	runs        []record.Agent
	abroad      []record.RemoteAgent
	events      []core.Event
	idle        map[string][]core.Interval // nil: as before
	conflicting []Conflict                 // nil: as before
	decided     []Item                     // nil: as before, like the next two
	said        map[string]string
	folded      string
}

// read reads the changes after r.seen.
func (r *readResult) read(tx project.Tx) error {
	revision, _, err := tx.Revision()
	if err != nil {
		return err
	}
	if err := r.readEvents(tx, revision < r.revision); err != nil {
		return err
	}
	if revision != r.revision || !r.begun {
		if err := r.readFrames(tx, revision); err != nil {
			return err
		}
	}
	r.revision, r.begun = revision, true
	if err := r.readGone(tx); err != nil {
		return err
	}
	if err := r.readSessions(tx); err != nil {
		return err
	}
	if err := r.readAgents(tx); err != nil {
		return err
	}
	return errors.Join(r.readWaiting(tx), r.readTexts(tx))
}

// readEvents reads the new events. If there are too many, or the store is an older copy, it
// starts a reading of everything.
func (r *readResult) readEvents(tx project.Tx, isOlder bool) error {
	if !r.begun || isOlder {
		return r.begin(tx)
	}
	// Read the last known event again, to check that this is the same store.
	events, err := tx.FindEvents(project.EventQuery{AfterSeq: max(0, r.last.seq-1), Limit: noticed})
	if err != nil {
		return err
	}
	if r.last.seq > 0 {
		if len(events) == 0 || markOf(events[0]) != r.last {
			return r.begin(tx)
		}
		events = events[1:]
	}
	if len(events) >= noticed-1 {
		return r.begin(tx)
	}
	if r.events = events; len(events) > 0 {
		r.last = markOf(events[len(events)-1])
	}
	return nil
}

// begin starts a reading of everything.
func (r *readResult) begin(tx project.Tx) error {
	last, err := tx.FindEvents(project.EventQuery{Last: true, Limit: 1})
	if err != nil {
		return err
	}
	*r = readResult{begins: true, board: New(nil, nil, nil), readPosition: readPosition{latest: r.latest}}
	if len(last) > 0 {
		r.last = markOf(last[0])
	}
	r.events, err = tx.FindEvents(project.EventQuery{Kinds: slices.Sorted(maps.Keys(told)), Last: true, Limit: noticed})
	return err
}

// readFrames reads the changed frames. Each save raises the revision by one. If the revision rose
// by more, frames were saved twice, settled together or deleted.
func (r *readResult) readFrames(tx project.Tx, revision int64) (err error) {
	if r.latest > 0 && r.begins {
		r.frames, err = latestFrames(tx, r.latest)
		return err
	}
	if r.frames, err = tx.FramesChangedSince(r.revision); err != nil {
		return err
	}
	isPlain := revision-r.revision == int64(len(r.frames)) &&
		!slices.ContainsFunc(r.frames, func(f core.Frame) bool { return f.Status == core.Invalidated })
	r.inDoubt = r.inDoubt || !isPlain
	turns, err := project.RecordTurn.At(tx, lo.Map(r.frames, func(f core.Frame, _ int) string { return f.ID }))
	if err != nil {
		return err
	}
	whole, err := tx.FramesOf(lo.Keys(turns))
	r.short = lo.SliceToMap(whole, func(f core.Frame) (string, bool) { return f.ID, outline.IsShort(f) })
	return err
}

// With many frames, the search for deleted ones takes long, so it runs less often.
const (
	few      = 5000
	patience = 2000 // in ms
)

// readGone finds deleted frames, if there may be any.
func (r *readResult) readGone(tx project.Tx) error {
	if r.inDoubt = r.inDoubt && !r.begins; !r.inDoubt {
		return nil
	}
	now, known := r.board.now(), len(r.board.frames.byID)
	if known > few && r.counted <= now && now-r.counted < patience {
		return nil
	}
	r.inDoubt, r.counted = false, now
	counts, err := tx.CountFrames(project.FrameQuery{Archived: true})
	if err != nil {
		return err
	}
	isNew := lo.CountBy(r.frames, func(f core.Frame) bool { return r.board.frames.byID[f.ID] == nil })
	if project.Total(counts) == known+isNew {
		return nil
	}
	ids, err := tx.FrameIDs()
	_, r.gone = lo.Difference(ids, slices.Sorted(maps.Keys(r.board.frames.byID)))
	return err
}

// readSessions reads open sessions, sessions of changed frames, and native subagents.
func (r *readResult) readSessions(tx project.Tx) (err error) {
	if r.begins {
		if r.sessions, err = tx.FindSessions(project.SessionQuery{}); err != nil {
			return err
		}
		r.idle, err = project.RecordIdle.ByID(tx)
		r.live = lo.Filter(r.sessions, func(s core.Session, _ int) bool { return s.Parent == "" && s.State != core.SessionEnded })
		return err
	}
	if r.live, err = tx.FindSessions(project.SessionQuery{Live: true}); err != nil {
		return err
	}
	for limit := 32; ; limit *= 4 {
		if r.sessions, err = tx.FindSessions(project.SessionQuery{Tracked: true, Limit: limit}); err != nil {
			return err
		}
		if len(r.sessions) < limit || r.board.sessions[r.sessions[limit-1].ID].LastActivityAt == r.sessions[limit-1].LastActivityAt {
			break
		}
	}
	if err := r.readOthers(tx); err != nil {
		return err
	}
	if r.woke() {
		r.idle, err = project.RecordIdle.ByID(tx)
	}
	return err
}

// readOthers reads changed sessions that may be missing in those lists: sessions of changed frames,
// sessions that were live, and some of the running native subagents at each reading. The end of a
// session counts as no activity, and clocks can go back.
func (r *readResult) readOthers(tx project.Tx) error {
	wanted := lo.Map(r.frames, func(f core.Frame, _ int) string { return f.Session })
	for id, s := range r.board.sessions {
		if s.Parent == "" && s.State != core.SessionEnded {
			wanted = append(wanted, id)
		}
	}
	wanted = append(wanted, r.someNatives()...)
	met := lo.Map(slices.Concat(r.sessions, r.live), func(s core.Session, _ int) string { return s.ID })
	for _, id := range lo.Without(lo.Uniq(wanted), append(met, "")...) {
		session, err := tx.Session(id)
		if project.IgnoreMissing(err) != nil {
			return err
		}
		if err == nil {
			r.sessions = append(r.sessions, session)
		} else if was, known := r.board.sessions[id]; known { // flame deletes sessions that ended long ago
			was.State = core.SessionEnded
			r.sessions = append(r.sessions, was)
		}
	}
	return nil
}

// someNatives returns some of the running native subagents, the next ones at each reading.
func (r *readResult) someNatives() []string {
	const some = 32
	all := r.board.atWork(func(a Agent) bool { return a.Native })
	from, _ := slices.BinarySearch(all, r.asked)
	all = append(all[from:], all[:from]...)
	if len(all) > some {
		r.asked = all[some]
		return all[:some]
	}
	return all
}

// woke reports whether a session works again.
func (r *readResult) woke() bool {
	return slices.ContainsFunc(r.live, func(s core.Session) bool {
		return s.LastActivityAt-r.board.sessions[s.ID].LastActivityAt > gap
	})
}

// readAgents reads agents that flame started: all of them at first, later the running ones and
// those that were running.
func (r *readResult) readAgents(tx project.Tx) (err error) {
	if r.abroad, err = record.AllRemote(tx); err != nil {
		return err
	}
	if r.begins {
		r.runs, err = record.List(tx)
		return err
	}
	if r.runs, err = record.Running(tx); err != nil {
		return err
	}
	met := lo.Map(r.runs, func(run record.Agent, _ int) string { return run.ID })
	ended := r.board.atWork(func(a Agent) bool { return !a.Native && a.Machine == "" })
	for _, e := range r.events {
		if e.Event == core.SubagentStop { // it may have started and ended between two readings
			ended = append(ended, e.SubagentID)
		}
	}
	for _, id := range lo.Without(lo.Uniq(ended), append(met, "")...) {
		run, known, err := record.Agents.Get(tx, id)
		if err != nil {
			return err
		}
		if known {
			r.runs = append(r.runs, run)
		}
	}
	return nil
}

// readWaiting reads the conflicts that wait for a person, if they may have changed.
func (r *readResult) readWaiting(tx project.Tx) error {
	if !r.begins && !slices.ContainsFunc(r.events, func(e core.Event) bool {
		return e.Event == core.ManualReviewRequired || e.Event == core.ConvergenceComplete
	}) {
		return nil
	}
	all, err := converge.RecordConvergences.All(tx)
	r.conflicting = conflictsOf(all)
	return err
}
