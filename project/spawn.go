package project

import (
	"context"
	"errors"

	"flame/core"
)

// recordSpawn, by the host's id of the call, is a child that a session asked for.
const recordSpawn Kind[spawn] = "spawn"

// A spawn is a child on its way: its frame is made when it is asked for, its
// session's id is known later.
type spawn struct {
	Parent string `json:"parent"`          // session that asked
	Host   string `json:"host,omitempty"`  //
	Title  string `json:"title"`           // of the child's session
	Frame  string `json:"frame,omitempty"` // made for it; empty until the heuristics pass
	Child  string `json:"child,omitempty"` // its session, once known
}

// A SpawnCall is a call by which an agent asks its host for a child.
type SpawnCall struct {
	ID          string // the host's, unique
	Description string // what the child is to do, in a few words
	AgentType   string
}

// Spawn notes that the caller asks for a child. The child's frame is made below
// the caller's current one, where its title is that of a subagent, and its
// context is given for the child to begin with; empty where there is none to
// give. The same call again changes nothing.
func (p *Project) Spawn(ctx context.Context, by Caller, call SpawnCall) (context string, err error) {
	err = p.update(ctx, by, func(s *step) error {
		var known spawn
		there, err := recordSpawn.Load(s, call.ID, &known)
		if err != nil {
			return err
		}
		if !there {
			if known, err = s.spawn(call); err != nil {
				return err
			}
		}
		context, err = s.childContext(known.Frame, 0)
		return err
	})
	return context, err
}

func (s *step) spawn(call SpawnCall) (made spawn, err error) {
	parent, err := s.spawnParent()
	if err != nil {
		return made, err
	}
	made = spawn{
		Parent: s.session.ID, Host: s.session.Host,
		Title: core.SubagentTitle(core.OneLine(call.Description, maxTitle), call.AgentType),
	}
	config, err := s.subagentConfig()
	if err != nil {
		return made, err
	}
	patterns, _ := core.CompilePatterns(config.SubagentPatterns)
	if !config.Enabled || patterns.Match(made.Title) {
		frame, err := s.create(core.Frame{Parent: parent, Goal: core.SubagentGoal(made.Title), Status: core.InProgress})
		if err != nil {
			return made, err
		}
		made.Frame = frame.ID
	}
	return made, recordSpawn.Save(s, call.ID, made)
}

// spawnParent returns the id of the frame that the caller's children go below. A
// child that is not worth a frame itself has its children beside it.
func (s *step) spawnParent() (string, error) {
	if s.awaitsHeuristics() {
		return s.parentFrame()
	}
	return s.pushParent()
}

// childContext is what a child in frame begins with, if children get any.
func (s *step) childContext(frame string, maxChars int) (string, error) {
	config, err := s.subagentConfig()
	if err != nil || frame == "" || !config.InjectParentContext {
		return "", err
	}
	f, err := s.Frame(frame)
	if err != nil {
		return "", ignoreMissing(err)
	}
	return s.contextOf(f, maxChars)
}

// Bind tells which session the child of a call came to be. It gives whether the
// call is known; telling it again changes nothing.
func (p *Project) Bind(ctx context.Context, by Caller, call, child string) (known bool, err error) {
	err = p.update(ctx, by, func(s *step) error {
		known, err = s.bind(call, child)
		return err
	})
	return known, err
}

// Bound reports whether the session of a child is known, and whether it has a
// frame.
func (p *Project) Bound(ctx context.Context, child string) (bound, framed bool, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		session, err := tx.Session(child)
		framed = session.HasFrame()
		bound = session.Tracked || framed
		return ignoreMissing(err)
	})
	return bound, framed, err
}

func (s *step) bind(call, child string) (bool, error) {
	var asked spawn
	there, err := recordSpawn.Load(s, call, &asked)
	if err != nil || !there || asked.Child != "" || child == "" {
		return there, err
	}
	asked.Child = child
	if err := recordSpawn.Save(s, call, asked); err != nil {
		return true, err
	}
	session, err := s.Session(child)
	if errors.Is(err, core.ErrNotFound) {
		session, err = core.Session{ID: child, CreatedAt: s.now, State: core.SessionActive}, nil
	}
	if err != nil {
		return true, err
	}
	session.Parent, session.Host, session.Title, session.LastActivityAt = asked.Parent, asked.Host, asked.Title, s.now
	own := session.Root
	if err := s.adoptFrame(&session, asked); err != nil {
		return true, err
	}
	return true, s.as(session, func(s *step) error {
		if err := s.register(asked.Frame != ""); err != nil {
			return err
		}
		return s.moveBelow(own, asked.Frame)
	})
}

// adoptFrame returns the child's session the frame that was made for it.
func (s *step) adoptFrame(session *core.Session, asked spawn) error {
	if asked.Frame == "" {
		return nil
	}
	frame, err := s.Frame(asked.Frame)
	if err != nil {
		return ignoreMissing(err)
	}
	if session.Current == "" {
		session.Current = frame.ID
	}
	session.Root, frame.Session = frame.ID, session.ID
	return s.SaveFrame(frame)
}
