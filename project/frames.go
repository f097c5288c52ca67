package project

import (
	"context"

	"flame/core"
	"flame/core/op"
)

// Push starts a frame below the caller's current one and makes it current. In a
// session that never had a frame the root comes first; where the root has been
// ended, or a person begins an empty project, the new frame is a root itself.
func (p *Project) Push(ctx context.Context, by Caller, goal, criteria string) (frame core.Frame, err error) {
	if goal, err = clean("goal", goal); err != nil {
		return frame, err
	}
	if criteria, err = cleanOptional("successCriteria", criteria); err != nil {
		return frame, err
	}
	err = p.update(ctx, by, func(s *step) error {
		parent, err := s.pushParent()
		if err != nil {
			return err
		}
		frame, err = s.create(core.Frame{Parent: parent, Goal: goal, SuccessCriteria: criteria, Status: core.InProgress})
		if err != nil {
			return err
		}
		if parent == "" || !s.session.HasFrame() || s.session.Current == "" && !s.session.IsCompleted {
			s.session.Root = frame.ID // a subagent whose frame is finished begins another
		}
		s.session.Current = frame.ID
		return s.actOn(core.SuggestPush)
	})
	return frame, err
}

// pushParent returns the id of the frame that a push goes below; empty for a new
// root.
func (s *step) pushParent() (string, error) {
	current, ok, err := s.current()
	if ok || err != nil {
		return current.ID, err
	}
	if above, err := s.parentFrame(); above != "" || err != nil {
		return above, err
	}
	if s.by.anonymous() || s.session.HasFrame() {
		return "", nil
	}
	root, err := s.makeRoot("")
	return root.ID, err
}

// Pop ends a frame. It refuses a root that is not named, and a frame with
// children in progress unless forced.
func (p *Project) Pop(ctx context.Context, by Caller, args PopArgs) (popped Popped, err error) {
	if err := args.check(); err != nil {
		return popped, err
	}
	err = p.update(ctx, by, func(s *step) error {
		frame, err := s.resolve(args.Frame)
		if err != nil {
			return err
		}
		if popped, err = s.poppable(frame, args); err != nil {
			return err
		}
		if args.GenerateSummary {
			err = s.awaitSummary(&popped, args)
		} else {
			err = s.finish(&popped, args)
		}
		if err != nil {
			return err
		}
		return s.actOn(core.SuggestPop)
	})
	return popped, err
}

// poppable checks that frame may end now and gathers what the reply names.
func (s *step) poppable(frame core.Frame, args PopArgs) (popped Popped, err error) {
	popped.Frame = frame
	if frame.Parent == "" && args.Frame == "" {
		return popped, core.Invalidf("%s is the root of this session's tree", frame.ID).
			WithHint("to end the whole tree pass %s %q; %s starts a piece of work below it", op.ArgFrame, frame.ID, op.Push)
	}
	if trial := frame; !frame.CanMove(args.Status) {
		return popped, trial.Move(args.Status, s.now)
	}
	if popped.Open, err = s.children(frame.ID, core.InProgress); err != nil {
		return popped, err
	}
	if len(popped.Open) > 0 && !args.Force {
		return popped, core.Invalidf("%s has children in progress: %s", frame.ID, listFrames(popped.Open)).
			WithHint("pop them first, or pass %s to end it over them", op.ArgForce)
	}
	if popped.Planned, err = s.children(frame.ID, core.Planned); err != nil {
		return popped, err
	}
	if frame.Parent != "" {
		parent, err := s.Frame(frame.Parent)
		if err != nil {
			return popped, err
		}
		popped.Parent = &parent
	}
	return popped, nil
}

// SetGoal returns a frame another goal.
func (p *Project) SetGoal(ctx context.Context, by Caller, ref, goal string) (core.Frame, error) {
	goal, err := clean("goal", goal)
	if err != nil {
		return core.Frame{}, err
	}
	frame, _, err := p.change(ctx, by, ref, "goal", goal, func(f *core.Frame, now core.Millis) bool {
		changed := f.Goal != goal || f.GoalIsDefault
		if changed {
			f.Goal, f.GoalIsDefault, f.UpdatedAt = goal, false, now
		}
		return changed
	})
	return frame, err
}

// AddArtifact records something a frame produced; added is false when it was
// there already. A path inside the worktree is kept relative to it.
func (p *Project) AddArtifact(ctx context.Context, by Caller, ref, artifact string) (frame core.Frame, added bool, err error) {
	if artifact, err = clean("artifact", artifact); err != nil {
		return frame, false, err
	}
	artifact = p.relative(artifact)
	return p.change(ctx, by, ref, "artifacts", artifact, func(f *core.Frame, now core.Millis) bool {
		return f.AddArtifact(artifact, now)
	})
}

// AddDecision records a decision made in a frame; added is false when it was
// there already.
func (p *Project) AddDecision(ctx context.Context, by Caller, ref, decision string) (frame core.Frame, added bool, err error) {
	if decision, err = clean("decision", decision); err != nil {
		return frame, false, err
	}
	return p.change(ctx, by, ref, "decisions", decision, func(f *core.Frame, now core.Millis) bool {
		return f.AddDecision(decision, now)
	})
}

// change applies a change of one field to a frame, the caller's own unless ref
// names another, and writes it with its event if it changed anything.
func (p *Project) change(ctx context.Context, by Caller, ref, field, value string, apply func(*core.Frame, core.Millis) bool) (frame core.Frame, changed bool, err error) {
	err = p.update(ctx, by, func(s *step) error {
		if frame, err = s.target(ref); err != nil {
			return err
		}
		if changed = apply(&frame, s.now); !changed {
			return nil
		}
		if err := s.SaveFrame(frame); err != nil {
			return err
		}
		return s.emit(core.FrameUpdated, frame.ID, map[string]any{"fields": []string{field}, field: value})
	})
	return frame, changed, err
}

// target is resolve for calls that write: the first one of a session makes its
// root.
func (s *step) target(ref string) (core.Frame, error) {
	if ref == "" {
		return s.ensureCurrent()
	}
	return s.resolve(ref)
}
