package project

import (
	"cmp"
	"context"
	"errors"

	"flame/core"
	"flame/core/op"
)

// recordDelegated, by an agent's id, is what its session will be told by.
const recordDelegated Kind[delegated] = "delegated"

// recordAgentFrame is by frame: the agent that it was made for.
const recordAgentFrame Kind[string] = "agent_frame"

// A delegated is the work of an agent that flame started.
type delegated struct {
	Frame   string `json:"frame"`
	Parent  string `json:"parent"`            // session that asked for it
	Session string `json:"session,omitempty"` // of the agent; empty until it is known
	Host    string `json:"host"`
	Title   string `json:"title"`
	Given   bool   `json:"given,omitempty"` // its context came with its task
}

// A Delegation asks for the frame of an agent that flame starts itself.
type Delegation struct {
	Agent    string // the agent's id
	Under    string // frame that it goes below; empty: the caller's current one
	Goal     string
	Session  string // of the agent in its host; empty where that is known only later (Join)
	Host     string
	Title    string // of that session
	Bare     bool   // no context is asked for
	MaxChars int    // of the context, in characters; 0: as much as fits the budget
}

// A Delegated is what a Delegation came to.
type Delegated struct {
	Frame   core.Frame
	Caller  core.Session // that asked for it
	Context string       // that the agent should begin with
	log     []func()
}

// Log tells the log of the frame, once the transaction is durable that made it.
func (d Delegated) Log() {
	tell(d.log)
}

// Delegate makes the frame of an agent, and its session below the caller's, in a
// transaction of whoever keeps the agent.
func (p *Project) Delegate(tx Tx, by Caller, d Delegation) (made Delegated, err error) {
	if d.Goal, err = clean("description", d.Goal); err != nil {
		return made, err
	}
	s, err := within(tx, p, by, always(func(s *step) error {
		parent, err := s.delegateUnder(d.Under)
		if err == nil {
			made.Frame, err = s.create(core.Frame{Parent: parent, Goal: core.OneLine(d.Goal, maxTitle), Status: core.InProgress})
		}
		if err == nil && !d.Bare {
			made.Context, err = s.contextOf(made.Frame, d.MaxChars)
		}
		if err != nil {
			return err
		}
		work := delegated{Frame: made.Frame.ID, Parent: s.session.ID, Host: d.Host, Title: d.Title, Given: made.Context != ""}
		return errors.Join(recordDelegated.Save(s, d.Agent, work), recordAgentFrame.Save(s, made.Frame.ID, d.Agent), s.join(d.Agent, d.Session))
	}))
	made.Caller, made.log = s.session, s.log
	return made, err
}

// delegateUnder returns the id of the frame that an agent's goes below.
func (s *step) delegateUnder(ref string) (string, error) {
	switch {
	case ref == "" && s.by.anonymous():
		return s.outsideAgents()
	case ref == "":
		return s.spawnParent()
	}
	parent, err := s.resolve(ref)
	if err == nil && parent.Status != core.InProgress {
		err = core.Invalidf("%s is %s, so no agent can work below it", parent.ID, parent.Status).
			WithHint("name a frame in progress, or %s this one", op.Activate)
	}
	return parent.ID, err
}

// outsideAgents returns the frame that a person at a shell works in: where work goes
// on, but not within what an agent does. Where there is none it makes one, so that
// agents started one after the other are in one tree.
func (s *step) outsideAgents() (string, error) {
	id, err := s.spawnParent()
	for err == nil && id != "" {
		frame, err := s.Frame(id)
		if err != nil {
			return "", err
		}
		if theirs, err := s.isAgents(frame); err != nil || !theirs {
			return id, err
		}
		id = frame.Parent
	}
	if err != nil {
		return "", err
	}
	root, err := s.makeRoot("Agents started at a shell")
	return root.ID, err
}

// isAgents reports whether an agent, or a subagent of a host's own, works in a frame.
func (s *step) isAgents(frame core.Frame) (bool, error) {
	agent := ""
	if known, err := recordAgentFrame.Load(s, frame.ID, &agent); known || err != nil {
		return known, err
	}
	session, err := s.Session(frame.Session)
	return session.Parent != "", ignoreMissing(err)
}

// SessionOf returns the id of the session that a call is of; an agent's own id stands
// for its session until that is known.
func SessionOf(tx Tx, by Caller) (string, error) {
	if by.Session != "" || by.anonymous() {
		return cmp.Or(by.Session, CommandLine), nil
	}
	var work delegated
	_, err := recordDelegated.Load(tx, by.Agent, &work)
	return cmp.Or(work.Session, by.Agent), err
}

// Join tells which session an agent works in. The first that is told holds.
func (p *Project) Join(ctx context.Context, by Caller, agent, session string) error {
	return p.update(ctx, by, func(s *step) error { return s.join(agent, session) })
}

// join makes a session that of an agent, unless it has one or id is empty. The
// agent's own id stood for it until now, if it worked before.
func (s *step) join(agent, id string) error {
	var work delegated
	known, err := recordDelegated.Load(s, agent, &work)
	if id == "" || !known || err != nil || work.Session != "" && work.Session != agent || work.Session == id {
		return err
	}
	before, err := s.Session(work.Session)
	if err = ignoreMissing(err); err != nil {
		return err
	}
	work.Session = id
	if err := recordDelegated.Save(s, agent, work); err != nil {
		return err
	}
	frame, err := s.Frame(work.Frame)
	if err != nil {
		return ignoreMissing(err)
	}
	if before.ID != "" {
		if err := s.DeleteSession(before.ID); err != nil {
			return err
		}
	}
	return s.beginIn(work, frame, before.Current)
}

// beginIn has the session of work begin in its frame; or in the one below that
// which it worked in before its name was known.
func (s *step) beginIn(work delegated, frame core.Frame, workedIn string) error {
	session, err := s.Session(work.Session)
	if err = ignoreMissing(err); err != nil {
		return err
	}
	if session.ID == "" {
		session = core.Session{ID: work.Session, CreatedAt: s.now}
	}
	own, err := s.inProgress(session.Root)
	if err != nil {
		return err
	}
	if session.Current, err = s.inProgress(session.Current); err != nil {
		return err
	}
	session.Current = cmp.Or(session.Current, workedIn, frame.ID)
	session.Parent, session.Host, session.Title = work.Parent, work.Host, work.Title
	session.State, session.LastActivityAt, session.IsCompleted = core.SessionActive, s.now, false
	session.Root, frame.Session = frame.ID, session.ID
	if err := s.SaveFrame(frame); err != nil {
		return err
	}
	theirs, err := s.presenceOf(session.ID)
	if err != nil {
		return err
	}
	theirs.Given = work.Given
	if err := s.savePresence(session.ID, theirs); err != nil {
		return err
	}
	if session.ID == s.session.ID {
		s.session = session
		return s.moveBelow(own, frame.ID)
	}
	return s.as(session, func(s *step) error { return s.moveBelow(own, frame.ID) })
}

// inProgress returns the id of a frame if it is in progress; else none.
func (s *step) inProgress(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	frame, err := s.Frame(id)
	if err != nil || frame.Status != core.InProgress {
		return "", ignoreMissing(err)
	}
	return id, nil
}

// joinOwn joins the caller's session to the work of the agent whose process it
// lives in, if that has no session yet.
func (s *step) joinOwn() error {
	if s.by.Agent == "" || s.by.Parent != "" || s.session.HasFrame() && s.session.Parent != "" {
		return nil
	}
	return s.join(s.by.Agent, s.session.ID)
}

// EndDelegation ends the frame of an agent in the way its run ended: with its
// session's other frames, where that is known. Telling it again changes nothing.
func (p *Project) EndDelegation(ctx context.Context, by Caller, frame string, ended ChildEnded) error {
	return p.update(ctx, by, func(s *step) error {
		s.agent = ended.Agent
		how := childEnded{End: ended.End, Last: ended.Last, Agent: true}
		session, err := s.Session(ended.Session)
		if err == nil && session.Root == frame {
			return s.endChild(session.ID, how)
		}
		if err = ignoreMissing(err); err != nil {
			return err
		}
		return s.endSpawn(spawn{Frame: frame}, how)
	})
}
