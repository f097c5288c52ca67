package stack

import (
	"errors"
	"slices"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/autonomy"
)

// nextOf returns the frame that a pop of a frame names as next: by its id, the beginning of it,
// or the goal of a planned one. It is nil if next is the goal of a new frame, or empty. A text
// that looks like an id, or the beginning of one, never counts as a goal.
func nextOf(s *project.Op, popped core.Frame, next string) (*core.Frame, error) {
	if next == "" {
		return nil, nil
	}
	frame, err := s.Tx.Frame(next) // imported frames have ids of any form
	if likeID().MatchString(next) {
		frame, err = s.Resolve(next)
	} else if errors.Is(err, core.ErrNotFound) {
		return plannedAs(s, popped.ID, next)
	}
	return &frame, err
}

// likeID matches a text that begins as ids do and has nothing else in it.
var likeID = core.Pattern(`^(frame|plan)-[a-z0-9]*\z`)

// plannedAs returns the oldest planned frame with this goal below a frame, else below the frame
// above it, and so on; nil without one. A frame of another machine counts: what is planned there
// is planned.
func plannedAs(s *project.Op, id, goal string) (*core.Frame, error) {
	if id == "" {
		return nil, nil
	}
	above, err := s.Tx.Ancestors(id, 0)
	if err != nil {
		return nil, err
	}
	for _, at := range append([]core.Frame{{ID: id}}, above...) {
		query := project.FrameQuery{Parent: at.ID, Goal: goal, Statuses: []core.Status{core.Planned}, Limit: 1}
		found, err := s.Tx.FindFrames(query)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return &found[0], nil
		}
	}
	return nil, nil
}

// goOn takes up the next frame of a pop, once the popped frame has ended: planned or, if that
// is nil, a new frame for goal. claimed is the claimed frame of another machine.
func goOn(s *project.Op, popped *PopResult, goal string, planned *core.Frame, claimed core.Frame) error {
	if planned == nil {
		frame, err := begin(s, goal)
		popped.NextActivated, popped.Current = &ActivateResult{Frame: frame}, frame.ID
		return errors.Join(err, recordSaid.Save(s.Tx, frame.ID, shownGoal{s.Session.ID, frame.Goal}))
	}
	if err := mayFollow(s, popped.Frame, *planned); err != nil {
		return popped.stay(err)
	}
	done, err := activate(s, *planned, claimed, false)
	if err != nil {
		return popped.stay(err)
	}
	popped.NextActivated, popped.Current = &done, planned.ID
	if err := recordSaid.Save(s.Tx, planned.ID, shownGoal{s.Session.ID, planned.Goal}); err != nil {
		return err
	}
	popped.Planned = slices.DeleteFunc(popped.Planned, func(f core.Frame) bool { return f.ID == planned.ID })
	return nil
}

// stay notes why a pop took up no next frame. It returns an error that is no refusal.
func (popped *PopResult) stay(why error) error {
	refused, ok := errors.AsType[*core.Problem](why)
	if !ok || errors.Is(why, core.ErrUnavailable) {
		return why
	}
	popped.NotNext = refused
	return nil
}

// mayFollow refuses a frame that a pop cannot take up as the next one.
func mayFollow(s *project.Op, popped, next core.Frame) error {
	switch {
	case next.ID == popped.ID:
		return core.Invalidf("%s is the frame that ended", next.ID).WithHint("%s %s reopens it", op.Activate, next.ID)
	case next.Status == core.Planned:
	case next.Status == core.Invalidated:
		return core.Invalidf("%s is invalidated", next.ID).
			WithHint("name a planned frame, or push a new one; %s shows the frames", op.Tree)
	default:
		return core.Invalidf("%s is %s, not planned", next.ID, next.Status).WithHint("%s %s takes it up", op.Activate, next.ID)
	}
	top := popped.ID
	if above, err := s.Tx.Ancestors(popped.ID, 0); err != nil {
		return err
	} else if len(above) > 0 {
		top = above[len(above)-1].ID
	}
	if inside, err := s.IsInside(next.ID, top); inside || err != nil || popped.Parent == "" {
		return err
	}
	return core.Invalidf("%s is in another tree than %s", next.ID, popped.ID).WithHint("%s %s takes it up", op.Activate, next.ID)
}

// push takes up what the goal names if that is planned already, so that nothing is there twice,
// else begins a frame for it.
func push(s *project.Op, goal, criteria string) (core.Frame, error) {
	if err := pushesBelowRoot(s); err != nil {
		return core.Frame{}, err
	}
	at, err := PushParent(s)
	if err != nil {
		return core.Frame{}, err
	}
	items, err := openItems(s, at)
	planned := sameGoal(items, goal)
	if err == nil && planned == nil {
		planned, err = plannedAs(s, at, goal)
	}
	if err != nil {
		return core.Frame{}, err
	}
	if planned == nil || planned.IsRemote() {
		return beginIn(s, at, goal, criteria)
	}
	if criteria != "" {
		planned.SuccessCriteria = criteria
	}
	done, err := activate(s, *planned, core.Frame{}, false)
	return done.Frame, err
}

// begin makes a frame for a goal where a push would, and enters it.
func begin(s *project.Op, goal string) (core.Frame, error) {
	parent, err := PushParent(s)
	if err != nil {
		return core.Frame{}, err
	}
	return beginIn(s, parent, goal, "")
}

// beginIn makes a frame below another one and enters it.
func beginIn(s *project.Op, parent, goal, criteria string) (core.Frame, error) {
	frame, err := s.Create(core.Frame{Parent: parent, Goal: goal, SuccessCriteria: criteria, Status: core.InProgress})
	if err != nil {
		return frame, err
	}
	if parent == "" || !s.Session.HasFrame() || s.Session.Current == "" && !s.Session.IsCompleted {
		s.Session.Root = frame.ID // a subagent whose frame is finished begins another
	}
	if err := autonomy.Enter(s, frame.ID); err != nil {
		return frame, err
	}
	return frame, pushedBelow(s, parent)
}
