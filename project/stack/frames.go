// Package stack changes the tree: frames are pushed, popped, planned, activated and
// invalidated, compactions bring their summaries, and their logs are saved.
package stack

import (
	"context"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/autonomy"
)

// Push starts a frame below the caller's current one and makes it current. A session
// that never had a frame gets its root first; if the root has ended, or a person begins
// an empty project, the new frame is a root itself.
func Push(ctx context.Context, p *project.Project, by project.Caller, goal, criteria string) (frame core.Frame, err error) {
	if goal, err = project.Clean("goal", goal); err != nil {
		return frame, err
	}
	if criteria, err = project.CleanOptional("successCriteria", criteria); err != nil {
		return frame, err
	}
	err = p.Update(ctx, by, func(s *project.Step) error {
		parent, err := PushParent(s)
		if err != nil {
			return err
		}
		frame, err = s.Create(core.Frame{Parent: parent, Goal: goal, SuccessCriteria: criteria, Status: core.InProgress})
		if err != nil {
			return err
		}
		if parent == "" || !s.Session.HasFrame() || s.Session.Current == "" && !s.Session.IsCompleted {
			s.Session.Root = frame.ID // a subagent whose frame is finished begins another
		}
		s.Session.Current = frame.ID
		return autonomy.ActOn(s, parent, core.SuggestPush)
	})
	return frame, err
}

// PushParent returns the id of the frame that a push goes below; empty for a new
// root.
func PushParent(s *project.Step) (string, error) {
	current, ok, err := s.Current()
	if ok || err != nil {
		return current.ID, err
	}
	if above, err := s.ParentFrame(); above != "" || err != nil {
		return above, err
	}
	if s.By.Anonymous() || s.Session.HasFrame() {
		return "", nil
	}
	root, err := s.MakeRoot("")
	return root.ID, err
}

// Pop ends a frame. It refuses a root unless args names it, and a frame with children in
// progress unless forced.
func Pop(ctx context.Context, p *project.Project, by project.Caller, args PopArgs) (popped Popped, err error) {
	if err := args.Check(); err != nil {
		return popped, err
	}
	err = p.Update(ctx, by, func(s *project.Step) error {
		frame, err := s.Resolve(args.Frame)
		if err != nil {
			return err
		}
		if popped, err = poppable(s, frame, args); err != nil {
			return err
		}
		if args.GenerateSummary {
			err = awaitSummary(s, &popped, args)
		} else {
			err = Finish(s, &popped, args)
		}
		if err != nil {
			return err
		}
		return autonomy.ActOn(s, frame.ID, core.SuggestPop)
	})
	return popped, err
}

// poppable checks that frame may end now and collects what the reply shows.
func poppable(s *project.Step, frame core.Frame, args PopArgs) (popped Popped, err error) {
	popped.Frame = frame
	if frame.Parent == "" && args.Frame == "" {
		return popped, core.Invalidf("%s is the root of this session's tree", frame.ID).
			WithHint("to end the whole tree pass %s %q; %s starts a piece of work below it", op.ArgFrame, frame.ID, op.Push)
	}
	if trial := frame; !frame.CanMove(args.Status) {
		return popped, trial.Move(args.Status, s.Now)
	}
	if popped.Open, err = Children(s, frame.ID, core.InProgress); err != nil {
		return popped, err
	}
	if len(popped.Open) > 0 && !args.Force {
		return popped, core.Invalidf("%s has children in progress: %s", frame.ID, project.ListFrames(popped.Open)).
			WithHint("pop them first, or pass %s to end it over them", op.ArgForce)
	}
	if popped.Planned, err = Children(s, frame.ID, core.Planned); err != nil {
		return popped, err
	}
	if frame.Parent == "" {
		return popped, nil
	}
	parent, err := s.Tx.Frame(frame.Parent)
	if err != nil {
		return popped, err
	}
	popped.Parent = &parent
	popped.Next, err = nextPlanned(s, frame)
	return popped, err
}

// nextPlanned returns the planned frame that was made first of those beside a frame.
func nextPlanned(s *project.Step, frame core.Frame) (*core.Frame, error) {
	beside, err := s.Tx.FindFrames(project.FrameQuery{Parent: frame.Parent, Statuses: []core.Status{core.Planned}, Limit: 1})
	if err != nil || len(beside) == 0 {
		return nil, err
	}
	return &beside[0], nil
}

// SetGoal gives a frame another goal.
func SetGoal(ctx context.Context, p *project.Project, by project.Caller, ref, goal string) (core.Frame, error) {
	goal, err := project.Clean("goal", goal)
	if err != nil {
		return core.Frame{}, err
	}
	frame, _, err := change(ctx, p, by, ref, "goal", goal, func(f *core.Frame, now core.Millis) bool {
		changed := f.Goal != goal || f.GoalIsDefault
		if changed {
			f.Goal, f.GoalIsDefault, f.UpdatedAt = goal, false, now
		}
		return changed
	})
	return frame, err
}

// AddArtifact records something a frame produced; added is false if it was recorded
// before. A path inside the worktree is stored relative to it.
func AddArtifact(ctx context.Context, p *project.Project, by project.Caller, ref, artifact string) (frame core.Frame, added bool, err error) {
	if artifact, err = project.Clean("artifact", artifact); err != nil {
		return frame, false, err
	}
	artifact = p.Relative(artifact)
	return change(ctx, p, by, ref, "artifacts", artifact, func(f *core.Frame, now core.Millis) bool {
		return f.AddArtifact(artifact, now)
	})
}

// AddDecision records a decision made in a frame; added is false if it was recorded
// before.
func AddDecision(ctx context.Context, p *project.Project, by project.Caller, ref, decision string) (frame core.Frame, added bool, err error) {
	if decision, err = project.Clean("decision", decision); err != nil {
		return frame, false, err
	}
	return change(ctx, p, by, ref, "decisions", decision, func(f *core.Frame, now core.Millis) bool {
		return f.AddDecision(decision, now)
	})
}

// change applies a change of one field to a frame, the caller's own unless ref
// names another, and writes it with its event if it changed anything.
func change(
	ctx context.Context, p *project.Project, by project.Caller, ref, field, value string, apply func(*core.Frame, core.Millis) bool,
) (frame core.Frame, changed bool, err error) {
	err = p.Update(ctx, by, func(s *project.Step) error {
		if frame, err = target(s, ref); err != nil {
			return err
		}
		if changed = apply(&frame, s.Now); !changed {
			return nil
		}
		if err := s.Tx.SaveFrame(frame); err != nil {
			return err
		}
		return s.Emit(core.FrameUpdated, frame.ID, map[string]any{"fields": []string{field}, field: value})
	})
	return frame, changed, err
}

// target is Resolve for calls that write: the first one of a session makes its root.
func target(s *project.Step, ref string) (core.Frame, error) {
	if ref == "" {
		return s.EnsureCurrent()
	}
	return s.Resolve(ref)
}
