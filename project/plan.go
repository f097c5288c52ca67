package project

import (
	"context"
	"strings"

	"flame/core"
)

// A PlannedChild is one piece of work to be done later.
type PlannedChild struct {
	Goal            string
	SuccessCriteria string
}

// maxPlanned bounds the frames of one Plan call: more than an agent plans at
// once, and few enough for one short transaction.
const maxPlanned = 200

// Plan makes planned frames below parentRef, or below the caller's current
// frame, in the order given. A caller without a frame plans roots.
func (p *Project) Plan(ctx context.Context, by Caller, parentRef string, children []PlannedChild) (parent *core.Frame, planned []core.Frame, err error) {
	if children, err = cleanPlan(children); err != nil {
		return nil, nil, err
	}
	err = p.update(ctx, by, func(s *step) error {
		if parent, err = s.planParent(parentRef); err != nil {
			return err
		}
		planned = nil
		for _, child := range children {
			frame := core.Frame{Goal: child.Goal, SuccessCriteria: child.SuccessCriteria, Status: core.Planned}
			if parent != nil {
				frame.Parent = parent.ID
			}
			if frame, err = s.create(frame); err != nil {
				return err
			}
			planned = append(planned, frame)
		}
		if parent == nil {
			return nil
		}
		for _, frame := range planned {
			parent.PlannedChildren = append(parent.PlannedChildren, frame.ID)
		}
		parent.UpdatedAt = s.now
		return s.SaveFrame(*parent)
	})
	return parent, planned, err
}

func cleanPlan(children []PlannedChild) ([]PlannedChild, error) {
	if len(children) == 0 {
		return nil, core.Invalidf("children is empty").WithHint("name at least one piece of work")
	}
	if len(children) > maxPlanned {
		return nil, core.Invalidf("%d children at once, the limit is %d", len(children), maxPlanned).
			WithHint("plan them in several calls, or below several frames")
	}
	cleaned := make([]PlannedChild, len(children))
	for i, child := range children {
		var err error
		if cleaned[i].Goal, err = clean("goal", child.Goal); err != nil {
			return nil, err
		}
		if cleaned[i].SuccessCriteria, err = cleanOptional("successCriteria", child.SuccessCriteria); err != nil {
			return nil, err
		}
	}
	return cleaned, nil
}

// planParent finds the frame to plan under; nil plans roots.
func (s *step) planParent(ref string) (*core.Frame, error) {
	if ref == "" {
		_, ok, err := s.current()
		if err != nil {
			return nil, err
		}
		if !ok && (s.by.anonymous() || s.session.HasFrame()) {
			return nil, nil
		}
	}
	parent, err := s.target(ref)
	if err != nil {
		return nil, err
	}
	if parent.Status == core.Completed || parent.Status == core.Failed || parent.Status == core.Invalidated {
		return nil, core.Invalidf("%s is %s, so nothing can be planned under it", parent.ID, parent.Status).
			WithHint("plan under a frame that is planned, in progress or blocked; flame_activate reopens a finished one")
	}
	return &parent, nil
}

// Activated is a frame that was taken up.
type Activated struct {
	Frame core.Frame
	From  core.Status // what it was before
	Taken string      // session it was taken over from; empty otherwise
}

// Activate takes up a frame: planned, blocked, completed or failed, or one in
// progress whose sessions have all ended, or any with force. It becomes the
// caller's current frame.
func (p *Project) Activate(ctx context.Context, by Caller, ref string, force bool) (a Activated, err error) {
	if ref = strings.TrimSpace(ref); ref == "" {
		return a, core.Invalidf("sessionID is empty").WithHint("give the id of the frame to take up; flame_tree shows them")
	}
	err = p.update(ctx, by, func(s *step) error {
		frame, err := s.resolve(ref)
		if err != nil {
			return err
		}
		a = Activated{From: frame.Status}
		if frame.Status == core.InProgress {
			err = s.takeOver(&frame, force, &a)
		} else {
			err = s.start(&frame)
		}
		if err != nil {
			return err
		}
		a.Frame = frame
		s.session.Current = frame.ID
		if !s.session.HasFrame() {
			s.session.Root = frame.ID
		}
		return nil
	})
	return a, err
}

// start puts a frame into progress for the caller's session.
func (s *step) start(frame *core.Frame) error {
	event := core.FrameActivated
	if frame.Status == core.Completed || frame.Status == core.Failed {
		event = core.FrameReopened
	}
	from := frame.Status
	if err := frame.Move(core.InProgress, s.now); err != nil {
		return err
	}
	frame.Session, frame.ArchivedAt = s.session.ID, 0
	if err := s.SaveFrame(*frame); err != nil {
		return err
	}
	return s.emit(event, frame.ID, map[string]any{"from": from})
}

// takeOver gives the caller a frame in progress that no live session works in.
func (s *step) takeOver(frame *core.Frame, force bool, a *Activated) error {
	owner, err := s.liveOwner(*frame)
	if err != nil {
		return err
	}
	if owner != "" && !force {
		return core.Invalidf("%s is in progress in session %s", frame.ID, owner).
			WithHint("let that session finish it, or pass force if that session is gone")
	}
	if frame.Session == s.session.ID {
		return nil
	}
	a.Taken = frame.Session
	frame.Session, frame.UpdatedAt = s.session.ID, s.now
	if err := s.SaveFrame(*frame); err != nil {
		return err
	}
	return s.emit(core.FrameActivated, frame.ID, map[string]any{"from": core.InProgress, "takenFrom": a.Taken})
}

// liveOwner gives a session other than the caller's that still works in frame.
func (s *step) liveOwner(frame core.Frame) (string, error) {
	at, err := s.FindSessions(SessionQuery{Current: frame.ID})
	if err != nil {
		return "", err
	}
	if frame.Session != "" {
		owner, err := s.Session(frame.Session)
		if err == nil {
			at = append(at, owner)
		}
	}
	for _, session := range at {
		if session.ID != s.session.ID && session.Host != CommandLine && session.State != core.SessionEnded {
			return session.ID, nil
		}
	}
	return "", nil
}

// Invalidated is what an invalidation did.
type Invalidated struct {
	core.Cascade
	Current string // id of the caller's current frame now; empty without one
}

// Invalidate marks a frame, the caller's own unless ref names one, and all that
// is planned below it as no longer valid.
func (p *Project) Invalidate(ctx context.Context, by Caller, ref, reason string) (done Invalidated, err error) {
	if reason, err = clean("reason", reason); err != nil {
		return done, err
	}
	err = p.update(ctx, by, func(s *step) error {
		frame, err := s.resolve(ref)
		if err != nil {
			return err
		}
		done.Cascade, err = core.InvalidationCascade(frame, reason, s.now, func(id string) ([]core.Frame, error) {
			return s.FindFrames(FrameQuery{Parent: id, Archived: true})
		})
		if err != nil {
			return err
		}
		changed := append([]core.Frame{done.Target}, done.Planned...)
		for _, f := range changed {
			if err := s.SaveFrame(f); err != nil {
				return err
			}
			if err := s.emit(core.FrameInvalidated, f.ID, map[string]any{"reason": f.InvalidationReason}); err != nil {
				return err
			}
		}
		done.Current, err = s.nearestOpen(s.session.Current)
		s.session.Current = done.Current
		return err
	})
	return done, err
}
