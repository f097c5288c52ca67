package project

import (
	"errors"

	"flame/core"
)

// ParentFrame returns the id of the frame that the parent session works in; empty for a
// session without a parent, or whose parent has no frame.
func (s *Step) ParentFrame() (string, error) {
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

// Frameless reports whether the caller's session is a child that is to have no frame: it
// is not worth one yet, or the settings say that flame watches no children.
func (s *Step) Frameless() (bool, error) {
	if s.Session.Parent == "" || s.Session.HasFrame() || s.Session.Tracked {
		return s.Session.Tracked && !s.Session.HasFrame(), nil
	}
	config, err := s.SubagentConfig()
	return !config.Enabled, err
}

// MakeRoot gives the session its first frame: the root of a tree, or for a subagent's
// session a frame below the one its parent works in. Without a goal it gets a default
// one, which a later prompt or title replaces.
func (s *Step) MakeRoot(goal string) (core.Frame, error) {
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
// of its id (DESIGN §4).
func defaultGoal(session core.Session) string {
	if session.Title != "" {
		return core.OneLine(session.Title, 80)
	}
	id := []rune(session.ID)
	return "Session " + string(id[:min(8, len(id))])
}

// MaxRootGoal is the length in characters that a prompt's first line is cut to
// as the goal of a root (DESIGN §4).
const MaxRootGoal = 80

// RenameRoot gives the session's root another goal, if it only has a default one.
func (s *Step) RenameRoot(goal string, isDefault bool) error {
	root, err := s.Tx.Frame(s.Session.Root)
	if err != nil || root.Foreign() || !root.GoalIsDefault || root.Goal == goal && isDefault {
		return IgnoreMissing(err)
	}
	root.Goal, root.GoalIsDefault, root.UpdatedAt = goal, isDefault, s.Now
	if err := s.Tx.SaveFrame(root); err != nil {
		return err
	}
	return s.Emit(core.FrameUpdated, root.ID, map[string]any{"fields": []string{"goal"}, "goal": goal})
}
