package board

import (
	"maps"
	"slices"

	"github.com/samber/lo"

	"flame/agents/abroad"
	"flame/agents/convergence"
	"flame/agents/record"
	"flame/core"
	"flame/project"
)

// noticed is how many events may have happened between two readings before the board
// begins anew.
const noticed = 5000

// A reading is what one transaction found.
type reading struct {
	seen
	begins bool // everything was read

	board *Board // as it was read before; empty where everything is read

	frames      []core.Frame
	gone        []string       // ids of frames that were deleted
	sessions    []core.Session // of the frames, and native subagents
	live        []core.Session
	runs        []record.Run
	abroad      []abroad.Agent
	events      []core.Event
	idle        map[string][]core.Stretch // nil: as before
	conflicting []Conflict                // nil: as before
}

// read reads what changed after r.seen.
func (r *reading) read(tx project.Tx) error {
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
	return r.readWaiting(tx)
}

// readEvents reads what happened; where that is too much to be worth it, or the store is
// an older copy of what it was, everything is read anew.
func (r *reading) readEvents(tx project.Tx, isOlder bool) error {
	if !r.begun || isOlder {
		return r.begin(tx)
	}
	// The last event that was seen is read again, which tells whether it is still the same.
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

// begin reads from the beginning what readEvents would not.
func (r *reading) begin(tx project.Tx) error {
	last, err := tx.FindEvents(project.EventQuery{Last: true, Limit: 1})
	if err != nil {
		return err
	}
	*r = reading{begins: true, board: New(nil, nil)}
	if len(last) > 0 {
		r.last = markOf(last[0])
	}
	for _, kinds := range [][]string{slices.Sorted(maps.Keys(told)), {core.SubagentRetry}} {
		some, err := tx.FindEvents(project.EventQuery{Kinds: kinds, Last: true, Limit: noticed})
		if err != nil {
			return err
		}
		r.events = append(r.events, some...)
	}
	return nil
}

// readFrames reads the frames that changed. Each save raises the revision by one: where it
// rose by more, frames were saved twice, settled together or deleted.
func (r *reading) readFrames(tx project.Tx, revision int64) (err error) {
	if r.frames, err = tx.Changed(r.revision); err != nil {
		return err
	}
	isPlain := revision-r.revision == int64(len(r.frames)) &&
		!slices.ContainsFunc(r.frames, func(f core.Frame) bool { return f.Status == core.Invalidated })
	r.inDoubt = r.inDoubt || !isPlain
	return nil
}

// Among many frames it takes long to find which were deleted, so that this waits.
const (
	few      = 5000
	patience = 2000 // in ms
)

// readGone finds the frames that were deleted, if any may have been.
func (r *reading) readGone(tx project.Tx) error {
	if r.inDoubt = r.inDoubt && !r.begins; !r.inDoubt {
		return nil
	}
	now, known := r.board.now(), len(r.board.frames.nodes)
	if known > few && r.counted <= now && now-r.counted < patience {
		return nil
	}
	r.inDoubt, r.counted = false, now
	counts, err := tx.CountFrames(project.FrameQuery{Archived: true})
	if err != nil {
		return err
	}
	isNew := lo.CountBy(r.frames, func(f core.Frame) bool { return r.board.frames.nodes[f.ID] == nil })
	if project.Total(counts) == known+isNew {
		return nil
	}
	ids, err := tx.FrameIDs()
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	for id := range r.board.frames.nodes {
		if !there[id] {
			r.gone = append(r.gone, id)
		}
	}
	slices.Sort(r.gone)
	return err
}

// readSessions reads those that have not ended, those of frames that changed, and native
// subagents.
func (r *reading) readSessions(tx project.Tx) (err error) {
	if r.begins {
		if r.sessions, err = tx.FindSessions(project.SessionQuery{}); err != nil {
			return err
		}
		r.idle, err = idleOf(tx)
		for _, session := range r.sessions {
			if session.Parent == "" && session.State != core.SessionEnded {
				r.live = append(r.live, session)
			}
		}
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
		r.idle, err = idleOf(tx)
	}
	return err
}

// readOthers reads the sessions that those lists may leave out although they changed:
// those of frames that changed, those that were live, and native subagents that had not
// ended, some at each reading. An end is no activity, and clocks go back.
func (r *reading) readOthers(tx project.Tx) error {
	var wanted []string
	for _, f := range r.frames {
		wanted = append(wanted, f.Session)
	}
	for id := range r.board.live {
		wanted = append(wanted, id)
	}
	wanted = append(wanted, r.someNatives()...)
	met := map[string]bool{"": true}
	for _, s := range slices.Concat(r.sessions, r.live) {
		met[s.ID] = true
	}
	for _, id := range wanted {
		if met[id] {
			continue
		}
		met[id] = true
		session, err := tx.Session(id)
		if project.IgnoreMissing(err) != nil {
			return err
		}
		if err == nil {
			r.sessions = append(r.sessions, session)
		} else if was, known := r.board.sessions[id]; known { // it was deleted, as one that ended long ago is
			was.State = core.SessionEnded
			r.sessions = append(r.sessions, was)
		}
	}
	return nil
}

// someNatives returns some of the native subagents that had not ended: the next ones at
// each reading.
func (r *reading) someNatives() []string {
	const some = 32
	all := slices.Sorted(maps.Keys(r.board.natives))
	from, _ := slices.BinarySearch(all, r.asked)
	all = append(all[from:], all[:from]...)
	if len(all) > some {
		r.asked = all[some]
		return all[:some]
	}
	return all
}

// woke reports whether a session works again.
func (r *reading) woke() bool {
	return slices.ContainsFunc(r.live, func(s core.Session) bool {
		return s.LastActivityAt-r.board.sessions[s.ID].LastActivityAt > gap
	})
}

// readAgents reads those that flame started: all at first, then those that run, and
// those that ran.
func (r *reading) readAgents(tx project.Tx) (err error) {
	if r.abroad, err = abroad.All(tx); err != nil {
		return err
	}
	if r.begins {
		r.runs, err = record.List(tx)
		return err
	}
	if r.runs, err = record.AtWork(tx); err != nil {
		return err
	}
	ended := maps.Clone(r.board.running)
	for _, run := range r.runs {
		delete(ended, run.ID)
	}
	for _, e := range r.events {
		if e.Event == core.SubagentStop && e.SubagentID != "" {
			ended[e.SubagentID] = true // it may have begun and ended between two readings
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ended)) {
		var run record.Run
		known, err := record.Runs.Load(tx, id, &run)
		if err != nil {
			return err
		}
		if known {
			r.runs = append(r.runs, run)
		}
	}
	return nil
}

// readWaiting reads what waits for a person, where that may have changed.
func (r *reading) readWaiting(tx project.Tx) error {
	if !r.begins && !slices.ContainsFunc(r.events, func(e core.Event) bool {
		return e.Event == core.ManualReviewRequired || e.Event == core.ConvergenceComplete
	}) {
		return nil
	}
	all, err := convergence.Records.All(tx)
	r.conflicting = conflictsOf(all)
	return err
}

// idleOf returns when each session did not work for long.
func idleOf(tx project.Tx) (map[string][]core.Stretch, error) {
	idle := map[string][]core.Stretch{}
	return idle, project.RecordIdle.Each(tx, func(session string, stretches []core.Stretch) error {
		idle[session] = stretches
		return nil
	})
}
