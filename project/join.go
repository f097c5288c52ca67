package project

import (
	"cmp"
	"errors"
	"slices"

	"flame/core"
	"flame/core/op"
)

// RecordAgentWork, by an agent's id, is the work that its session is to do.
const RecordAgentWork RecordKind[AgentWork] = "delegated"

// RecordAgentFrame, by a frame's id, is the id of the agent that it was made for.
const RecordAgentFrame RecordKind[string] = "frame.agent"

// An AgentWork is the work of an agent that flame started.
type AgentWork struct {
	Frame   string `json:"frame"`
	Parent  string `json:"parent"`            // session that asked for it
	Session string `json:"session,omitempty"` // of the agent; empty until it is known
	Host    string `json:"host"`
	Title   string `json:"title"`
	Given   bool   `json:"given,omitempty"` // its context came with its task
}

// SessionOf returns the id of the session that made a call. While the session of an agent
// is unknown, the agent's own id stands in for it.
func SessionOf(tx Tx, by Caller) (string, error) {
	if by.Session != "" || by.Anonymous() {
		return cmp.Or(by.Session, CommandLine), nil
	}
	work, _, err := RecordAgentWork.Get(tx, by.Agent)
	return cmp.Or(work.Session, by.Agent), err
}

// maxNested limits how deep sessions may be nested.
const maxNested = 32

// IsBelow reports whether a session is one of these, or below one of them. known is false if that
// cannot be said, because a session above it is not stored.
func (s *Op) IsBelow(session string, these ...string) (below, known bool, err error) {
	for range maxNested {
		if session == "" || slices.Contains(these, session) {
			return session != "", true, nil
		}
		above, err := s.Tx.Session(session)
		if err != nil {
			return false, false, IgnoreMissing(err)
		}
		session = above.Parent
	}
	return false, true, nil
}

// mustBeBelow refuses a caller that is said to be a subagent of a session in which its own session,
// which is known, did not begin. A session that flame met before its parent may still become a
// subagent, but not one in which a user writes.
func (s *Op) mustBeBelow(own core.Session) error {
	if s.Caller.Parent == "" || own.ID == s.Caller.Parent {
		return nil
	}
	if below, known, err := s.IsBelow(own.Parent, s.Caller.Parent); below || !known || err != nil {
		return err
	}
	if own.Parent == "" && !own.Stamped {
		mine, err := RecordHookState.Find(s.Tx, own.ID)
		if err != nil || mine.Prompt == "" {
			return err
		}
	}
	return core.Invalidf("%s is not a subagent of session %s", own.ID, s.Caller.Parent).
		WithHint("flame believes a subagent only in the session in which it began; have a new subagent of this session do it")
}

// BindAgentSession makes session id the session of an agent, unless the agent has one or id is
// empty. The agent may have worked before, under its own id in place of a session's.
func (s *Op) BindAgentSession(agent, id string) error {
	work, known, err := RecordAgentWork.Get(s.Tx, agent)
	if id == "" || !known || err != nil || work.Session != "" && work.Session != agent || work.Session == id {
		return err
	}
	before, err := s.Tx.Session(work.Session)
	if err = IgnoreMissing(err); err != nil {
		return err
	}
	work.Session = id
	if err := RecordAgentWork.Save(s.Tx, agent, work); err != nil {
		return err
	}
	frame, err := s.Tx.Frame(work.Frame)
	if err != nil || frame.IsRemote() {
		return IgnoreMissing(err)
	}
	if before.ID != "" {
		if err := errors.Join(RecordIdle.Delete(s.Tx, before.ID), s.Tx.DeleteSession(before.ID)); err != nil {
			return err
		}
	}
	return s.beginIn(work, frame, before.Current)
}

// joinOwn makes the caller's session the session of the agent whose process it lives in,
// if that agent has none yet.
func (s *Op) joinOwn() error {
	if s.Caller.Agent == "" || s.Caller.Parent != "" || s.Session.HasFrame() && s.Session.Parent != "" {
		return nil
	}
	return s.BindAgentSession(s.Caller.Agent, s.Session.ID)
}

// beginIn starts the session of work in frame, or in workedIn: the frame below it in which
// the agent worked before flame knew its session.
func (s *Op) beginIn(work AgentWork, frame core.Frame, workedIn string) error {
	session, err := s.Tx.Session(work.Session)
	if err = IgnoreMissing(err); err != nil {
		return err
	}
	if session.ID == "" {
		session = core.Session{ID: work.Session, CreatedAt: s.Now}
	}
	if err := noteIdle(s.Tx, session, s.Now); err != nil {
		return err
	}
	own, err := inProgress(s.Tx, session.Root)
	if err != nil {
		return err
	}
	if session.Current, err = inProgress(s.Tx, session.Current); err != nil {
		return err
	}
	session.Current = cmp.Or(session.Current, workedIn, frame.ID)
	session.Parent, session.Host, session.Title = work.Parent, work.Host, work.Title
	session.State, session.LastActivityAt, session.IsCompleted = core.SessionActive, s.Now, false
	session.Root, frame.Session = frame.ID, session.ID
	if err := s.Tx.SaveFrame(frame); err != nil {
		return err
	}
	err = errors.Join(
		RecordHookState.Change(s.Tx, session.ID, func(theirs *HookState) { theirs.ContextGiven = work.Given }),
		CountFrom(s.Tx, session.ID, CountNever), worksIn(s, session.ID, frame.ID, session.Current),
	)
	if err != nil {
		return err
	}
	if session.ID == s.Session.ID {
		s.Session = session
		return s.ReparentRoot(own, frame.ID)
	}
	return s.AsSession(session, func(s *Op) error { return s.ReparentRoot(own, frame.ID) })
}

// ReparentRoot moves the root that a child made for itself, before flame knew that it was a
// child, below the frame that was meant for it. A root that others had planned stays in
// its place.
func (s *Op) ReparentRoot(own, meant string) error {
	if own == "" || meant == "" || own == meant {
		return nil
	}
	frame, err := s.Tx.Frame(own)
	if err != nil || frame.IsRemote() {
		return IgnoreMissing(err)
	}
	if frame.Parent != "" {
		above, err := s.Tx.Frame(frame.Parent)
		if err != nil || slices.Contains(above.PlannedChildren, own) {
			return IgnoreMissing(err)
		}
	}
	if open, err := s.Tx.Frame(meant); err != nil || !open.IsOpen() {
		return IgnoreMissing(err) // nothing begins below a frame that is finished or of another machine
	}
	if loop, err := s.IsInside(meant, own); loop || err != nil {
		return err
	}
	frame.Parent, frame.UpdatedAt = meant, s.Now
	return s.Tx.SaveFrame(frame)
}

// inProgress returns id if that frame is in progress on this machine, else "".
func inProgress(tx Tx, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	frame, err := tx.Frame(id)
	if err != nil || !frame.IsOpen() {
		return "", IgnoreMissing(err)
	}
	return id, nil
}

// ParentFrame returns the id of the frame that the parent session works in; empty for a
// session without a parent, or whose parent has no frame.
func (s *Op) ParentFrame() (string, error) {
	if s.Session.Parent == "" {
		return "", nil
	}
	parent, err := s.Tx.Session(s.Session.Parent)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return s.NearestOpen(parent.Current)
}

// HasNoFrame reports whether the caller's session is a child without a frame: it is not
// worth one yet, or the settings say that flame watches no children.
func (s *Op) HasNoFrame() (bool, error) {
	if s.Session.Parent == "" || s.Session.HasFrame() || s.Session.Tracked {
		return s.Session.Tracked && !s.Session.HasFrame(), nil
	}
	config, err := s.SubagentConfig()
	return !config.Enabled, err
}

// MakeRoot gives the session its first frame: the root of a tree, or for a subagent's
// session a frame below the one its parent works in. Without a goal it gets a default
// one, which a later prompt or title replaces.
func (s *Op) MakeRoot(goal string) (core.Frame, error) {
	parent, err := s.ParentFrame()
	if err != nil {
		return core.Frame{}, err
	}
	isDefault := goal == ""
	if isDefault {
		goal = defaultGoal(s.Session)
	}
	root, err := s.Create(core.Frame{Parent: parent, Goal: goal, GoalIsDefault: isDefault, Status: core.InProgress})
	s.Session.Root, s.Session.Current = root.ID, root.ID
	return root, err
}

// defaultGoal returns a session's title, or else "Session" and the first 8 characters
// of its id.
func defaultGoal(session core.Session) string {
	if session.Title != "" {
		return core.OneLine(session.Title, 80)
	}
	id := []rune(session.ID)
	return "Session " + string(id[:min(8, len(id))])
}

// MaxRootGoal is the length in characters to which flame cuts a prompt for the goal of a
// root. All that a person asked for is in the contexts of those who work on it; views show less.
const MaxRootGoal = 2000

// RenameRoot gives the session's root another goal, if its goal is a default one.
func (s *Op) RenameRoot(goal string, isDefault bool) error {
	root, err := s.Tx.Frame(s.Session.Root)
	if err != nil || root.IsRemote() || !root.GoalIsDefault || root.Goal == goal && isDefault {
		return IgnoreMissing(err)
	}
	root.Goal, root.GoalIsDefault, root.UpdatedAt = goal, isDefault, s.Now
	return errors.Join(s.Tx.SaveFrame(root), s.Emit(core.FrameUpdated, root.ID, map[string]any{"fields": []string{"goal"}, "goal": goal}))
}

// A frame belongs to the machine whose session works in it. Every machine may plan below it,
// invalidate it and add decisions to it. Flame refuses all other changes until this machine
// has taken the frame over by a claim.

// ElsewhereDeadline, by frame, is the kind of deadline that ends the frames that only waited
// here for a frame of another machine, once that frame has ended or was invalidated there.
const ElsewhereDeadline = "ended_elsewhere"

// CheckLocal returns an error for a frame of another machine: this machine may not work in it,
// end it, or change its texts.
func (s *Op) CheckLocal(frame core.Frame) error {
	if problem := elsewhere(frame); problem != nil {
		return problem
	}
	return nil
}

// CheckNotTakenOver returns an error for a call that names no frame, if another machine took over the
// frame in which the caller's session works: the caller does not mean the frame above it.
func (s *Op) CheckNotTakenOver() error {
	frame, taken, err := s.taken(s.Session.Current)
	if err != nil || !taken {
		return err
	}
	return elsewhere(frame).WithHint("%s %s takes it over again; %s starts another frame", op.Activate, frame.ID, op.Push)
}

// taken returns a frame in which a session works or worked, and reports whether another
// machine works in it now.
func (s *Op) taken(id string) (frame core.Frame, taken bool, err error) {
	if id == "" {
		return frame, false, nil
	}
	frame, err = s.Tx.Frame(id)
	return frame, frame.Status == core.InProgress && frame.IsRemote(), IgnoreMissing(err)
}

// elsewhere returns the error for work in a frame of another machine; nil for a frame of
// this machine.
func elsewhere(frame core.Frame) *core.Problem {
	if !frame.IsRemote() {
		return nil
	}
	problem := core.Invalidf("%s belongs to machine %s", frame.ID, frame.Machine)
	if frame.Status == core.InProgress || frame.CanTransition(core.InProgress) {
		problem = problem.WithHint("%s %s takes it over", op.Activate, frame.ID)
	}
	return problem
}

// MayClaim reports whether this process can claim frames of other machines. A claim uses
// the network, which no operation may do while a transaction is open.
func (p *Project) MayClaim() bool { return p.Claim != nil && p.joint == nil }

// UnclaimedError returns the error for a frame of another machine that this machine cannot claim.
func UnclaimedError(frame core.Frame) error {
	return core.Invalidf("%s belongs to machine %s, and this machine is not connected to the hub now", frame.ID, frame.Machine).
		WithHint("it can be taken over once this machine is connected (`flame doctor` shows that); until then %s starts a frame of your own", op.Push)
}
