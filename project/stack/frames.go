// Package stack changes the tree: it pushes, pops, plans, activates and invalidates frames,
// stores the summaries that compactions bring, and saves the logs of frames.
package stack

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// Push starts a frame below the caller's current frame and makes it current. A session
// that never had a frame gets its root first. If the root has ended, or a person begins
// an empty project, the new frame is a root itself.
func Push(ctx context.Context, p *project.Project, by project.Caller, goal, criteria string) (frame core.Frame, err error) {
	if goal, err = project.RequiredText("goal", goal); err != nil {
		return frame, err
	}
	if criteria, err = project.OptionalText("successCriteria", criteria); err != nil {
		return frame, err
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		frame, err = push(s, goal, criteria)
		return err
	})
	return frame, err
}

// PushParent returns the id of the frame below which a push puts the new frame; empty for a
// new root. A turn that leads to the push gets its frame first.
func PushParent(s *project.Op) (string, error) {
	if err := takeUpTurn(s); err != nil {
		return "", err
	}
	current, ok, err := s.Current()
	if ok || err != nil {
		return current.ID, err
	}
	if above, err := s.ParentFrame(); above != "" || err != nil {
		return above, err
	}
	if s.Caller.Anonymous() || s.Session.HasFrame() {
		return "", nil
	}
	root, err := s.MakeRoot("")
	return root.ID, err
}

// SetGoal gives a frame another goal, other criteria, or both: an empty argument leaves the
// field unchanged.
func SetGoal(ctx context.Context, p *project.Project, by project.Caller, ref, goal, criteria string) (frame core.Frame, err error) {
	if criteria, err = project.OptionalText("successCriteria", criteria); err != nil {
		return frame, err
	}
	clean := project.RequiredText
	if criteria != "" {
		clean = project.OptionalText
	}
	if goal, err = clean("goal", goal); err != nil {
		return frame, err
	}
	frame, _, err = change(ctx, p, by, ref, !anybodys, func(f *core.Frame, now core.Millis) edits {
		made := edits{}
		if goal != "" && (f.Goal != goal || f.GoalIsDefault) {
			f.Goal, f.GoalIsDefault, f.UpdatedAt, made["goal"] = goal, false, now, goal
		}
		if criteria != "" && f.SuccessCriteria != criteria {
			f.SuccessCriteria, f.UpdatedAt, made["successCriteria"] = criteria, now, criteria
		}
		return made
	})
	return frame, err
}

// AddArtifact records a result of a frame; added is false if it was recorded before. A path
// inside the worktree is stored relative to it.
func AddArtifact(ctx context.Context, p *project.Project, by project.Caller, ref, artifact string) (frame core.Frame, added bool, err error) {
	if artifact, err = project.RequiredText("artifact", artifact); err != nil {
		return frame, false, err
	}
	artifact = p.ArtifactPath(artifact)
	return change(ctx, p, by, ref, !anybodys, func(f *core.Frame, now core.Millis) edits {
		return edit("artifacts", artifact, f.AddArtifact(artifact, now))
	})
}

// AddDecision records a decision made in a frame; added is false if it was recorded
// before.
func AddDecision(ctx context.Context, p *project.Project, by project.Caller, ref, decision string) (frame core.Frame, added bool, err error) {
	if decision, err = project.RequiredText("decision", decision); err != nil {
		return frame, false, err
	}
	return change(ctx, p, by, ref, anybodys, func(f *core.Frame, now core.Millis) edits {
		return edit("decisions", decision, f.AddDecision(decision, now))
	})
}

// anybodys allows a change in frames of other machines too.
const anybodys = true

// edits are the changed fields of a frame, with their new value or the new item of their
// list.
type edits map[string]string

// edit returns the edit of one field; nil unless it was made.
func edit(field, value string, made bool) edits {
	if !made {
		return nil
	}
	return edits{field: value}
}

// change applies a change to a frame, the caller's own unless ref names another, and
// writes it with its event if it changed anything.
func change(
	ctx context.Context, p *project.Project, by project.Caller, ref string, foreign bool, apply func(*core.Frame, core.Millis) edits,
) (frame core.Frame, changed bool, err error) {
	err = p.Update(ctx, by, func(s *project.Op) error {
		if frame, err = target(s, ref); err != nil {
			return err
		}
		if !foreign {
			if err := s.CheckLocal(frame); err != nil {
				return err
			}
		}
		made := apply(&frame, s.Now)
		if changed = len(made) > 0; !changed {
			return nil
		}
		return errors.Join(s.Tx.SaveFrame(frame), s.Emit(core.FrameUpdated, frame.ID, updated(made)))
	})
	return frame, changed, err
}

// updated returns the data of the event about edits.
func updated(made edits) map[string]any {
	data := map[string]any{"fields": slices.Sorted(maps.Keys(made))}
	for field, value := range made {
		data[field] = value
	}
	return data
}

// target is resolveMeant for calls that write: the first one of a session makes its root.
func target(s *project.Op, ref string) (core.Frame, error) {
	if ref != "" {
		return s.Resolve(ref)
	}
	if err := s.CheckNotTakenOver(); err != nil {
		return core.Frame{}, err
	}
	if err := takeUpTurn(s); err != nil {
		return core.Frame{}, err
	}
	return s.EnsureCurrent()
}

// resolveMeant is Resolve for calls that change a frame. An empty ref names the frame in which
// the caller believes to work.
func resolveMeant(s *project.Op, ref string) (core.Frame, error) {
	if strings.TrimSpace(ref) == "" {
		if err := s.CheckNotTakenOver(); err != nil {
			return core.Frame{}, err
		}
	}
	return s.Resolve(ref)
}
