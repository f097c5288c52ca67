package children

import (
	"context"
	"errors"
	"fmt"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/briefing"
	"flame/project/stack"
)

// A DelegateArgs asks for the frame of an agent that flame starts itself.
type DelegateArgs struct {
	Agent    string // the agent's id
	Under    string // parent of the new frame; empty: the caller's current frame
	Goal     string
	Session  string // of the agent in its host; empty if flame learns it later (Join)
	Host     string
	Title    string // of that session
	Bare     bool   // the caller asks for no context
	MaxChars int    // of the context, in characters; 0: as much as fits the budget
	Attempt  briefing.TaskIdentity
}

// DelegateResult is the result of Delegate.
type DelegateResult struct {
	Frame   core.Frame
	Caller  core.Session // the session that asked for the agent
	Context string       // with which the agent should begin
	Log     func()       // writes the events of the frame to the log; to be called once the transaction is durable
}

// Delegate makes the frame of an agent, and its session below the caller's, in the
// transaction that records the agent.
func Delegate(p *project.Project, tx project.Tx, by project.Caller, d DelegateArgs) (made DelegateResult, err error) {
	if d.Goal, err = project.RequiredText("description", d.Goal); err != nil {
		return made, err
	}
	s := p.Step(tx, by)
	if err := s.LoadSession(); err != nil {
		return made, err
	}
	err = s.Change(func(s *project.Op) error {
		parent, err := delegateUnder(s, d.Under)
		if err == nil {
			made.Frame, err = s.Create(core.Frame{Parent: parent, Goal: core.OneLine(d.Goal, project.MaxTitle), Status: core.InProgress})
		}
		if err == nil && d.Attempt != (briefing.TaskIdentity{}) {
			err = briefing.Attempts.Save(s.Tx, made.Frame.ID, d.Attempt)
		}
		if err == nil && !d.Bare {
			made.Context, err = briefing.ContextOf(s, made.Frame, d.MaxChars)
		}
		if err != nil {
			return err
		}
		work := project.AgentWork{Frame: made.Frame.ID, Parent: s.Session.ID, Host: d.Host, Title: d.Title, Given: made.Context != ""}
		return errors.Join(project.RecordAgentWork.Save(s.Tx, d.Agent, work), project.RecordAgentFrame.Save(s.Tx, made.Frame.ID, d.Agent),
			s.BindAgentSession(d.Agent, d.Session))
	})
	made.Caller, made.Log = s.Session, func() { project.WriteLog(s) }
	return made, err
}

// delegateUnder returns the id of the frame below which to make an agent's.
func delegateUnder(s *project.Op, ref string) (string, error) {
	switch {
	case ref == "" && s.Caller.Anonymous():
		return outsideAgents(s)
	case ref == "":
		return spawnParent(s)
	}
	parent, err := s.Resolve(ref)
	if err == nil {
		err = s.CheckLocal(parent)
	}
	if err == nil && parent.Status != core.InProgress {
		err = core.Invalidf("%s is %s, so no agent can work below it", parent.ID, parent.Status).
			WithHint("name a frame in progress, or %s this one", op.Activate)
	}
	return parent.ID, err
}

// outsideAgents returns the frame in which a person at a shell works: the frame of the latest
// work, but not one in which an agent works. Without such a frame it makes one, so that
// agents started one after the other are in one tree.
func outsideAgents(s *project.Op) (string, error) {
	id, err := spawnParent(s)
	for err == nil && id != "" {
		frame, err := s.Tx.Frame(id)
		if err != nil {
			return "", err
		}
		if theirs, err := isAgents(s, frame); err != nil || !theirs {
			return id, err
		}
		id = frame.Parent
	}
	if err != nil {
		return "", err
	}
	root, err := s.MakeRoot("Agents started at a shell")
	return root.ID, err
}

// isAgents reports whether an agent, or a host's own subagent, works in a frame.
func isAgents(s *project.Op, frame core.Frame) (bool, error) {
	if _, known, err := project.RecordAgentFrame.Get(s.Tx, frame.ID); known || err != nil {
		return known, err
	}
	session, err := s.Tx.Session(frame.Session)
	return session.Parent != "", project.IgnoreMissing(err)
}

// EndDelegation ends the frame of an agent in the way its run ended, and the other frames
// of its session, if flame knows that. A repeated call changes nothing.
func EndDelegation(ctx context.Context, p *project.Project, by project.Caller, frame string, ended EndReport) error {
	return p.Update(ctx, by, func(s *project.Op) error {
		s.Agent = ended.Agent
		how := project.ChildOutcome{End: ended.End, Last: ended.Last, Agent: true}
		session, err := s.Tx.Session(ended.Session)
		if err == nil && session.Root == frame {
			return endChild(s, session.ID, how)
		}
		if err = project.IgnoreMissing(err); err != nil {
			return err
		}
		return endSpawn(s, RequestedChild{Frame: frame}, how)
	})
}

// EndParentFrame ends the frame above an agent's frame, if it is still in progress, because the
// agent did not do the work that the session handed over to it.
func EndParentFrame(ctx context.Context, p *project.Project, by project.Caller, frame string, status core.Status, why string) error {
	return p.Update(ctx, by, func(s *project.Op) error {
		f, err := s.Tx.Frame(frame)
		if err != nil || f.Parent == "" {
			return project.IgnoreMissing(err)
		}
		above, err := s.Tx.Frame(f.Parent)
		if err != nil || !above.IsOpen() {
			return project.IgnoreMissing(err)
		}
		return stack.End(s, &above, status, fmt.Sprintf("(handed over, and not done) %s", why))
	})
}

// OpenAncestor returns the nearest frame in progress above a frame, for work that continues the
// frame's; empty without one. It reopens a root that ended only because its session ended.
func OpenAncestor(ctx context.Context, p *project.Project, frame string) (open string, err error) {
	by := project.Caller{Host: project.CommandLine, Trust: project.TrustFlame}
	err = p.Run(ctx, by, func(s *project.Op) error {
		f, err := s.Tx.Frame(frame)
		if err != nil {
			return project.IgnoreMissing(err)
		}
		if open, err = s.NearestOpen(f.Parent); open != "" || err != nil {
			return err
		}
		root, err := s.RootOf(f)
		if err != nil {
			return err
		}
		ended, err := project.EndedWithSession(s.Tx, root)
		if !ended || err != nil {
			return err
		}
		open = root.ID
		return s.Change(func(s *project.Op) error {
			session, err := s.Tx.Session(root.Session)
			if err != nil {
				return err
			}
			return s.AsSession(session, (*project.Op).ResumeRoot)
		})
	})
	return open, err
}
