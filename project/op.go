package project

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"flame/core"
	"flame/core/op"
)

// An Op is one operation in progress: its transaction, its time and its caller.
type Op struct {
	Tx         Tx
	Project    *Project
	Now        core.Millis
	Caller     Caller
	Session    core.Session // the caller's, as it will be saved
	NewSession bool         // the session was not known before
	Agent      string       // id of the agent that events are about; empty outside of agents
	Rule       string       // the rule by which flame acts on its own; empty while it does what a caller asked
	changed    bool         // it did more than read
	log        []func()     // write log lines, once the transaction is durable
}

// Step begins a step on behalf of by in a transaction.
func (p *Project) Step(tx Tx, by Caller) *Op {
	return &Op{Tx: tx, Project: p, Now: p.Now(), Caller: by, Agent: by.Agent}
}

// LoadSession loads the caller's session, or prepares a new one. An anonymous caller works in the
// frame of the latest work (see adopt).
func (s *Op) LoadSession() error {
	id, err := SessionOf(s.Tx, s.Caller)
	if err != nil {
		return err
	}
	session, err := s.Tx.Session(id)
	switch {
	case errors.Is(err, core.ErrNotFound):
		s.NewSession = true
		session = core.Session{ID: id, Parent: s.Caller.Parent, CreatedAt: s.Now, State: core.SessionActive}
		if session.Root, err = s.imported(id); err != nil {
			return err
		}
		session.Current = session.Root
	case err != nil:
		return err
	default:
		if err := s.mustBeBelow(session); err != nil {
			return err
		}
	}
	// A hook knows its host, and a server what its client calls itself, which is more than a shell knows.
	sure := s.Caller.Event != "" || s.Caller.Trust == TrustFlame || session.Host == CommandLine
	if session.Host == "" || sure && s.Caller.Host != "" && s.Caller.Host != CommandLine {
		session.Host = s.Caller.Host
	}
	s.Session = session
	if s.Caller.Anonymous() {
		return s.adopt()
	}
	return nil
}

// imported returns the frame in progress that was imported for a session: in the original plugin a
// frame is a session, and has its id; empty without one.
func (s *Op) imported(session string) (string, error) {
	frame, err := s.Tx.Frame(session)
	if err != nil || !frame.IsOpen() || frame.Session != "" {
		return "", IgnoreMissing(err)
	}
	return frame.ID, nil
}

// adopt makes the frame of the most recently active session current for an anonymous
// caller. Without such a frame, it takes the frame in progress on this machine that changed
// last.
func (s *Op) adopt() error {
	recent, err := s.Tx.FindSessions(SessionQuery{Limit: 20})
	if err != nil {
		return err
	}
	for _, session := range recent {
		open, err := s.NearestOpen(session.Current)
		if err != nil {
			return err
		}
		if open == "" {
			continue
		}
		_, taken, err := s.taken(session.Current)
		if taken {
			open = session.Current // so that CheckNotTakenOver refuses it
		}
		s.Session.Current = open
		return err
	}
	s.Session.Current = ""
	for _, limit := range []int{1, maxAdopted / 20, maxAdopted} { // the first frame is this machine's, unless a hub brought it
		frames, err := s.Tx.FindFrames(FrameQuery{Statuses: []core.Status{core.InProgress}, Order: RecentFirst, Limit: limit})
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(frames, core.Frame.IsOpen); at >= 0 {
			s.Session.Current = frames[at].ID
		}
		if s.Session.Current != "" || len(frames) < limit {
			return nil
		}
	}
	return nil
}

// maxAdopted limits the frames among which adopt looks for one of this machine.
const maxAdopted = 2000

// NearestOpen returns id if that frame is in progress on this machine, else the id of the
// nearest frame above it that is; empty without one.
func (s *Op) NearestOpen(id string) (string, error) {
	frame, err := s.openAt(id)
	return frame.ID, err
}

// openAt is NearestOpen for the whole frame; without one, it returns the zero Frame.
func (s *Op) openAt(id string) (none core.Frame, err error) {
	if id == "" {
		return none, nil
	}
	frame, err := s.Tx.Frame(id)
	if err != nil {
		return none, IgnoreMissing(err)
	}
	if frame.IsOpen() {
		return frame, nil
	}
	for page, err := range above(s.Tx, id) {
		if err != nil {
			return none, err
		}
		if open := core.NearestOpen(frame, page); open != "" {
			return s.Tx.Frame(open)
		}
	}
	return none, nil
}

// Current returns the frame in which the caller works; ok is false without one. If another
// session has ended it, or another machine took it over, Current returns the nearest frame
// above it in progress.
func (s *Op) Current() (frame core.Frame, ok bool, err error) {
	frame, err = s.openAt(s.Session.Current)
	return frame, frame.ID != "", err
}

// EnsureCurrent returns the caller's frame. It makes the root of a session that never
// had a frame.
func (s *Op) EnsureCurrent() (core.Frame, error) {
	frame, ok, err := s.Current()
	if ok || err != nil {
		return frame, err
	}
	if s.Caller.Anonymous() || s.Session.HasFrame() {
		return core.Frame{}, NoCurrent()
	}
	return s.MakeRoot("")
}

// NoCurrent returns the error for a caller without a frame, which says how to get one.
func NoCurrent() error {
	return core.NotFoundf("there is no frame in progress").
		WithHint("%s starts one, %s takes up a planned or unfinished one; %s shows what there is", op.Push, op.Activate, op.Tree)
}

// Create gives frame an id and its times and writes it with its event.
func (s *Op) Create(frame core.Frame) (core.Frame, error) {
	kind, event := "frame", core.FrameCreated
	if frame.Status == core.Planned {
		kind, event = "plan", core.FramePlanned
	}
	for {
		frame.ID = s.Project.NewID(kind)
		_, err := s.Tx.Frame(frame.ID)
		if errors.Is(err, core.ErrNotFound) {
			break
		}
		if err != nil {
			return frame, err
		}
	}
	frame.CreatedAt, frame.UpdatedAt = s.Now, s.Now
	if frame.Status == core.InProgress {
		frame.StartedAt = s.Now
		frame.Session = s.Session.ID
	}
	if err := s.Tx.SaveFrame(frame); err != nil {
		return frame, err
	}
	return frame, s.Emit(event, frame.ID, map[string]any{"goal": frame.Goal, "parent": frame.Parent})
}

// Emit appends an event of the caller's session about frame.
func (s *Op) Emit(event, frame string, data map[string]any) error {
	e, err := s.Event(event, frame, data)
	if err != nil {
		return err
	}
	s.log = append(s.log, func() { s.Project.Log.Info(event, "frame", frame, "session", e.Session, "data", e.Data) })
	_, err = s.Tx.AppendEvent(e)
	return err
}

// Event returns an event of the caller's session about frame.
func (s *Op) Event(event, frame string, data map[string]any) (core.Event, error) {
	e := core.Event{
		V: core.EventVersion, TS: s.Now, Event: event, Frame: frame,
		Session: s.Session.ID, ParentSession: s.Session.Parent, Host: s.Session.Host, SubagentID: s.Agent,
	}
	if s.Rule != "" {
		data["by"] = s.Rule
	}
	if len(data) == 0 {
		return e, nil
	}
	raw, err := json.Marshal(data)
	e.Data = raw
	return e, err
}

// InvalidateBelow invalidates the planned frames below target, a frame that has just been
// invalidated, and writes the events.
func (s *Op) InvalidateBelow(target core.Frame) (below Invalidation, err error) {
	cascade := core.CascadeOf(target)
	e, err := s.Event(core.FrameInvalidated, "", map[string]any{"reason": cascade.Reason})
	if err == nil {
		below, err = s.Tx.InvalidateBelow(target.ID, cascade, e)
	}
	if n := len(below.Planned); n > 0 {
		s.log = append(s.log, func() {
			s.Project.Log.Info(core.FrameInvalidated, "below", target.ID, "frames", n, "session", e.Session)
		})
	}
	return below, err
}

// Due returns a deadline, and reports whether it is due.
func (s *Op) Due(kind, subject string) (d Deadline, due bool, err error) {
	d, set, err := s.Tx.Deadline(kind, subject)
	return d, set && d.Due <= s.Now, err
}

// OutOfTime reports whether the transaction has taken long enough, so that the rest of the
// work belongs in another one.
func (s *Op) OutOfTime() bool { return s.Project.Now()-s.Now > batchTime }

// MaxAncestors limits the frames above a frame that flame shows to agents and people.
const MaxAncestors = 200

// climb is how many ancestors one query reads: more than most trees have levels.
const climb = 50

// above returns the frames above id, parent first, at most MaxLevels of them. It reads them
// in pages, on demand.
func above(tx Tx, id string) iter.Seq2[[]core.Frame, error] {
	return func(yield func([]core.Frame, error) bool) {
		for range MaxLevels / climb {
			page, err := tx.Ancestors(id, climb)
			if !yield(page, err) || err != nil || len(page) < climb {
				return
			}
			id = page[climb-1].ID
		}
	}
}

// RootOf returns the topmost frame above a frame; the frame itself if nothing is above it.
func (s *Op) RootOf(frame core.Frame) (core.Frame, error) {
	if frame.Parent == "" {
		return frame, nil
	}
	for page, err := range above(s.Tx, frame.ID) {
		if err != nil {
			return frame, err
		}
		if len(page) > 0 {
			frame = page[len(page)-1]
		}
	}
	return frame, nil
}

// IsInside reports whether frame id is ancestor or is below it.
func (s *Op) IsInside(id, ancestor string) (bool, error) {
	if id == "" || id == ancestor {
		return id == ancestor && id != "", nil
	}
	for page, err := range above(s.Tx, id) {
		inside := slices.ContainsFunc(page, func(f core.Frame) bool { return f.ID == ancestor })
		if err != nil || inside {
			return inside, err
		}
	}
	return false, nil
}

// Resolve returns the frame that ref names: by its id, by an unambiguous prefix of its id
// (with or without "frame-" or "plan-"), or by the id of a host session, which stands
// for that session's root. An empty ref names the caller's frame.
func (s *Op) Resolve(ref string) (core.Frame, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		frame, ok, err := s.Current()
		if err == nil && !ok {
			err = NoCurrent()
		}
		return frame, err
	}
	frame, err := s.Tx.Frame(ref)
	if !errors.Is(err, core.ErrNotFound) {
		return frame, err
	}
	session, err := s.Tx.Session(ref)
	if err == nil && session.Root != "" {
		return s.Tx.Frame(session.Root)
	}
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return core.Frame{}, err
	}
	return resolvePrefix(s.Tx, ref)
}

// candidates is how many frames an error about an id lists.
const candidates = 3

// resolvePrefix returns the one frame whose id begins with ref.
func resolvePrefix(tx Tx, ref string) (core.Frame, error) {
	var found []core.Frame
	for _, kind := range []string{"", "frame-", "plan-"} {
		frames, err := tx.FindFrames(FrameQuery{Prefix: kind + ref, Archived: true, Limit: candidates + 1})
		if err != nil {
			return core.Frame{}, err
		}
		found = append(found, frames...)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return core.Frame{}, core.Invalidf("frame %q is ambiguous", ref).WithHint("it could be %s", ListFrames(found))
	}
	recent, err := tx.FindFrames(FrameQuery{Order: RecentFirst, Limit: candidates})
	if err != nil {
		return core.Frame{}, err
	}
	if len(recent) == 0 {
		return core.Frame{}, core.NotFoundf("frame %q not found", ref).WithHint("this project has no frames yet; %s starts one", op.Push)
	}
	return core.Frame{}, core.NotFoundf("frame %q not found", ref).
		WithHint("the latest are %s; %s shows all", ListFrames(recent), op.Tree)
}

// ListFrames returns the ids, statuses and goals of frames, for an error.
func ListFrames(frames []core.Frame) string {
	var b strings.Builder
	for i, f := range frames[:min(len(frames), candidates)] {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.ID + " (" + string(f.Status) + ", " + core.OneLine(f.Goal, 40) + f.MachineSuffix() + ")")
	}
	if len(frames) > candidates {
		b.WriteString("; and more")
	}
	return b.String()
}

// AsSession runs f as if session were the caller, and saves the session as f leaves it.
func (s *Op) AsSession(session core.Session, f func(*Op) error) error {
	if session.ID == s.Session.ID {
		return f(s)
	}
	child := *s
	child.Session = session
	if err := f(&child); err != nil {
		return err
	}
	if err := noteMove(&child, session); err != nil {
		return err
	}
	s.log = child.log
	return s.Tx.SaveSession(child.Session)
}

// batchTime is how long one transaction of a longer piece of work may last, in ms. With its
// commit it stays below the 50 ms for which others may have to wait.
const batchTime = core.Millis(10)
