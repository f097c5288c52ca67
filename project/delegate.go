package project

import (
	"context"
	"errors"
	"fmt"

	"flame/core"
	"flame/core/op"
)

// recordAgentFrame is by frame: the agent that it was made for.
const recordAgentFrame Kind[string] = "agent_frame"

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
	tell    func()
}

// Log tells the log of the frame, once the transaction is durable that made it.
func (d Delegated) Log() {
	d.tell()
}

// Delegate makes the frame of an agent, and its session below the caller's, in a
// transaction of whoever keeps the agent.
func (p *Project) Delegate(tx Tx, by Caller, d Delegation) (made Delegated, err error) {
	if d.Goal, err = clean("description", d.Goal); err != nil {
		return made, err
	}
	made.Caller, made.tell, err = p.updateIn(tx, by, func(s *step) error {
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
		work := agentWork{Frame: made.Frame.ID, Parent: s.session.ID, Host: d.Host, Title: d.Title, Given: made.Context != ""}
		return errors.Join(recordAgentWork.Save(s, d.Agent, work), recordAgentFrame.Save(s, made.Frame.ID, d.Agent), s.join(d.Agent, d.Session))
	})
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

// Join tells which session an agent works in. The first that is told holds.
func (p *Project) Join(ctx context.Context, by Caller, agent, session string) error {
	return p.update(ctx, by, func(s *step) error { return s.join(agent, session) })
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

// EndAbove ends the frame that an agent's was made below, if it is still in
// progress, because the agent did not do its work.
func (p *Project) EndAbove(ctx context.Context, by Caller, frame string, status core.Status, why string) error {
	return p.update(ctx, by, func(s *step) error {
		f, err := s.Frame(frame)
		if err != nil || f.Parent == "" {
			return ignoreMissing(err)
		}
		above, err := s.Frame(f.Parent)
		if err != nil || above.Status != core.InProgress {
			return ignoreMissing(err)
		}
		return s.end(&above, status, fmt.Sprintf("(handed over, and not done) %s", why))
	})
}

// OpenAbove returns the nearest frame in progress above another; empty without one.
func (p *Project) OpenAbove(ctx context.Context, frame string) (open string, err error) {
	err = p.view(ctx, Caller{}, func(s *step) error {
		f, err := s.Frame(frame)
		if err != nil {
			return ignoreMissing(err)
		}
		open, err = s.nearestOpen(f.Parent)
		return err
	})
	return open, err
}
