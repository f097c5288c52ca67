package project

import (
	"errors"

	"flame/core"
)

// parentFrame returns the id of the frame that the parent session works in;
// empty for a session without parent, or whose parent has no frame.
func (s *step) parentFrame() (string, error) {
	if s.session.Parent == "" {
		return "", nil
	}
	parent, err := s.Session(s.session.Parent)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return s.nearestOpen(parent.Current)
}

// awaitsHeuristics reports whether the caller's session is a child that is not
// yet worth a frame.
func (s *step) awaitsHeuristics() bool {
	return s.session.Tracked && !s.session.HasFrame()
}

// makeRoot returns the session its first frame: the root of a tree, or for a
// subagent's session a frame below the one its parent works in. Without a goal it
// gets a default one that a later prompt or title replaces.
func (s *step) makeRoot(goal string) (core.Frame, error) {
	parent, err := s.parentFrame()
	if err != nil {
		return core.Frame{}, err
	}
	isDefault := goal == ""
	if isDefault {
		goal = s.defaultGoal()
	}
	root, err := s.create(core.Frame{Parent: parent, Goal: goal, GoalIsDefault: isDefault, Status: core.InProgress})
	s.session.Root, s.session.Current = root.ID, root.ID
	return root, err
}

// defaultGoal is the session's title, else "Session" and the first 8 characters
// of its id (DESIGN §4).
func (s *step) defaultGoal() string {
	if s.session.Title != "" {
		return core.OneLine(s.session.Title, 80)
	}
	id := []rune(s.session.ID)
	return "Session " + string(id[:min(8, len(id))])
}

// maxRootGoal is the length in characters that a prompt's first line is cut to
// as the goal of a root (DESIGN §4).
const maxRootGoal = 80

// renameRoot returns the session's root another goal, if it only has a default
// one.
func (s *step) renameRoot(goal string, isDefault bool) error {
	root, err := s.Frame(s.session.Root)
	if err != nil || !root.GoalIsDefault || root.Goal == goal && isDefault {
		return ignoreMissing(err)
	}
	root.Goal, root.GoalIsDefault, root.UpdatedAt = goal, isDefault, s.now
	if err := s.SaveFrame(root); err != nil {
		return err
	}
	return s.emit(core.FrameUpdated, root.ID, map[string]any{"fields": []string{"goal"}, "goal": goal})
}
