package project

import (
	"encoding/json"
	"errors"
	"slices"

	"flame/core"
	"flame/core/op"
)

// A Step is one operation in progress: its transaction, its time and its caller.
type Step struct {
	Tx      Tx
	Project *Project
	Now     core.Millis
	By      Caller
	Session core.Session // the caller's, as it will be saved
	Fresh   bool         // the session was not known before
	Agent   string       // id of the agent that events are about; empty outside of agents
	Rule    string       // the rule by which flame acts on its own; empty while it does what it was asked
	changed bool         // it did more than read
	log     []func()     // writes log lines, once the transaction is durable
}

// Step begins a step on behalf of by in a transaction.
func (p *Project) Step(tx Tx, by Caller) *Step {
	return &Step{Tx: tx, Project: p, Now: p.Now(), By: by, Agent: by.Agent}
}

// Enter loads the caller's session, or prepares a new one. An anonymous caller works
// where work is going on.
func (s *Step) Enter() error {
	id, err := SessionOf(s.Tx, s.By)
	if err != nil {
		return err
	}
	session, err := s.Tx.Session(id)
	switch {
	case errors.Is(err, core.ErrNotFound):
		s.Fresh = true
		session = core.Session{ID: id, Parent: s.By.Parent, CreatedAt: s.Now, State: core.SessionActive}
	case err != nil:
		return err
	}
	if s.By.Host != "" && (session.Host == "" || s.By.Host != CommandLine) {
		session.Host = s.By.Host
	}
	s.Session = session
	if s.By.Anonymous() {
		return s.adopt()
	}
	return nil
}

// adopt makes the frame of the most recently active session current for an
// anonymous caller; without one, the frame in progress on this machine that changed last.
func (s *Step) adopt() error {
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
			open = session.Current // so that NotTaken refuses it
		}
		s.Session.Current = open
		return err
	}
	s.Session.Current = ""
	for _, limit := range []int{1, maxAdopted / 20, maxAdopted} { // the first is this machine's, but for those that a hub brought
		frames, err := s.Tx.FindFrames(FrameQuery{Statuses: []core.Status{core.InProgress}, Order: RecentFirst, Limit: limit})
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(frames, core.Frame.Open); at >= 0 {
			s.Session.Current = frames[at].ID
		}
		if s.Session.Current != "" || len(frames) < limit {
			return nil
		}
	}
	return nil
}

// maxAdopted is how many frames are looked at for one of this machine.
const maxAdopted = 2000

// NearestOpen returns id if that frame is in progress on this machine, else the id of the
// nearest frame above it that is; empty without one.
func (s *Step) NearestOpen(id string) (string, error) {
	frame, err := s.openAt(id)
	return frame.ID, err
}

// openAt is NearestOpen for the whole frame; without one, it returns the zero Frame.
func (s *Step) openAt(id string) (none core.Frame, err error) {
	if id == "" {
		return none, nil
	}
	frame, err := s.Tx.Frame(id)
	if err != nil {
		return none, IgnoreMissing(err)
	}
	if frame.Open() {
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

// Current returns the frame the caller works in; ok is false without one. If another
// session has ended it since, or another machine took it over, the nearest frame above it
// in progress takes its place.
func (s *Step) Current() (frame core.Frame, ok bool, err error) {
	frame, err = s.openAt(s.Session.Current)
	return frame, frame.ID != "", err
}

// EnsureCurrent returns the caller's frame. It makes the root of a session that never
// had a frame.
func (s *Step) EnsureCurrent() (core.Frame, error) {
	frame, ok, err := s.Current()
	if ok || err != nil {
		return frame, err
	}
	if s.By.Anonymous() || s.Session.HasFrame() {
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
func (s *Step) Create(frame core.Frame) (core.Frame, error) {
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
func (s *Step) Emit(event, frame string, data map[string]any) error {
	e, err := s.Event(event, frame, data)
	if err != nil {
		return err
	}
	s.log = append(s.log, func() { s.Project.Log.Info(event, "frame", frame, "session", e.Session, "data", e.Data) })
	_, err = s.Tx.AppendEvent(e)
	return err
}

// Event returns an event of the caller's session about frame.
func (s *Step) Event(event, frame string, data map[string]any) (core.Event, error) {
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

// Due returns a deadline, and reports whether it is due.
func (s *Step) Due(kind, subject string) (d Deadline, due bool, err error) {
	d, set, err := s.Tx.Deadline(kind, subject)
	return d, set && d.Due <= s.Now, err
}

// Late reports whether the transaction has taken long enough, so that the rest of the
// work belongs in another one.
func (s *Step) Late() bool { return s.Project.Now()-s.Now > batchTime }
