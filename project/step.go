package project

import (
	"encoding/json"
	"errors"

	"flame/core"
	"flame/core/op"
)

// A step is one operation under way: its transaction, its time, and who asked.
type step struct {
	Tx
	p       *Project
	now     core.Millis
	by      Caller
	session core.Session // the caller's, as it will be saved
	fresh   bool         // the session was not known before
	agent   string       // id of the agent that events are about; empty outside of agents
	rule    string       // by which flame acts of its own; empty while it does what was asked
	log     []func()     // what the log is told once the transaction is durable
}

// step begins a step of by's in a transaction.
func (p *Project) step(tx Tx, by Caller) *step {
	return &step{Tx: tx, p: p, now: p.Now(), by: by, agent: by.Agent}
}

// enter loads the caller's session, or prepares a new one. An anonymous caller
// continues where work is going on.
func (s *step) enter() error {
	id, err := SessionOf(s, s.by)
	if err != nil {
		return err
	}
	session, err := s.Session(id)
	switch {
	case errors.Is(err, core.ErrNotFound):
		s.fresh = true
		session = core.Session{ID: id, Parent: s.by.Parent, CreatedAt: s.now, State: core.SessionActive}
	case err != nil:
		return err
	}
	if s.by.Host != "" && (session.Host == "" || s.by.Host != CommandLine) {
		session.Host = s.by.Host
	}
	s.session = session
	if s.by.anonymous() {
		return s.adopt()
	}
	return nil
}

// adopt makes the frame of the most recently active session current for an
// anonymous caller; without one, the frame in progress that changed last.
func (s *step) adopt() error {
	recent, err := s.FindSessions(SessionQuery{Limit: 20})
	if err != nil {
		return err
	}
	for _, session := range recent {
		open, err := s.nearestOpen(session.Current)
		if err != nil {
			return err
		}
		if open != "" {
			s.session.Current = open
			return nil
		}
	}
	frames, err := s.FindFrames(FrameQuery{Statuses: []core.Status{core.InProgress}, Order: RecentFirst, Limit: 1})
	if err != nil {
		return err
	}
	s.session.Current = ""
	if len(frames) > 0 {
		s.session.Current = frames[0].ID
	}
	return nil
}

// nearestOpen returns the id of frame id if it is in progress, else that of the
// nearest frame above it that is; empty without one.
func (s *step) nearestOpen(id string) (string, error) {
	frame, err := s.openAt(id)
	return frame.ID, err
}

// openAt is nearestOpen for the whole frame; one without an id where there is none.
func (s *step) openAt(id string) (none core.Frame, err error) {
	if id == "" {
		return none, nil
	}
	frame, err := s.Frame(id)
	if err != nil {
		return none, ignoreMissing(err)
	}
	if frame.Status == core.InProgress {
		return frame, nil
	}
	for above, err := range s.above(id) {
		if err != nil {
			return none, err
		}
		if open := core.NearestOpen(frame, above); open != "" {
			return s.Frame(open)
		}
	}
	return none, nil
}

// current returns the frame the caller works in; ok is false when there is none.
// Others may have ended it since: then it is the nearest one above in progress.
func (s *step) current() (frame core.Frame, ok bool, err error) {
	frame, err = s.openAt(s.session.Current)
	return frame, frame.ID != "", err
}

// ensureCurrent returns the caller's frame; a session that never had one gets its
// root.
func (s *step) ensureCurrent() (core.Frame, error) {
	frame, ok, err := s.current()
	if ok || err != nil {
		return frame, err
	}
	if s.by.anonymous() || s.session.HasFrame() {
		return core.Frame{}, noCurrent()
	}
	return s.makeRoot("")
}

// noCurrent tells a caller without a frame how to get one.
func noCurrent() error {
	return core.NotFoundf("there is no frame in progress").
		WithHint("%s starts one, %s takes up a planned or unfinished one; %s shows what there is", op.Push, op.Activate, op.Tree)
}

// create returns frame an id and its times and writes it with its event.
func (s *step) create(frame core.Frame) (core.Frame, error) {
	kind, event := "frame", core.FrameCreated
	if frame.Status == core.Planned {
		kind, event = "plan", core.FramePlanned
	}
	for {
		frame.ID = s.p.NewID(kind)
		_, err := s.Frame(frame.ID)
		if errors.Is(err, core.ErrNotFound) {
			break
		}
		if err != nil {
			return frame, err
		}
	}
	frame.CreatedAt, frame.UpdatedAt = s.now, s.now
	if frame.Status == core.InProgress {
		frame.StartedAt = s.now
		frame.Session = s.session.ID
	}
	if err := s.SaveFrame(frame); err != nil {
		return frame, err
	}
	return frame, s.emit(event, frame.ID, map[string]any{"goal": frame.Goal, "parent": frame.Parent})
}

// emit appends an event of the caller's session about frame.
func (s *step) emit(event, frame string, data map[string]any) error {
	e, err := s.event(event, frame, data)
	if err != nil {
		return err
	}
	s.log = append(s.log, func() { s.p.Log.Info(event, "frame", frame, "session", e.Session, "data", e.Data) })
	_, err = s.AppendEvent(e)
	return err
}

// event makes an event of the caller's session about frame.
func (s *step) event(event, frame string, data map[string]any) (core.Event, error) {
	e := core.Event{
		V: core.EventVersion, TS: s.now, Event: event, Frame: frame,
		Session: s.session.ID, ParentSession: s.session.Parent, Host: s.session.Host, SubagentID: s.agent,
	}
	if s.rule != "" {
		data["by"] = s.rule
	}
	if len(data) == 0 {
		return e, nil
	}
	raw, err := json.Marshal(data)
	e.Data = raw
	return e, err
}

// due returns a deadline, and reports whether it is due.
func (s *step) due(kind, subject string) (d Deadline, due bool, err error) {
	d, set, err := s.Deadline(kind, subject)
	return d, set && d.Due <= s.now, err
}

// late reports whether what is left to do belongs into another transaction.
func (s *step) late() bool { return s.p.Now()-s.now > batchTime }
