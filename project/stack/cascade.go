package stack

import (
	"context"
	"errors"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
)

// InvalidateResult is the result of Invalidate.
type InvalidateResult struct {
	Target     core.Frame
	Planned    FrameSample // planned frames below it, now invalidated
	InProgress FrameSample // frames below it in progress: unchanged, but their workers should be warned
	Current    string      // id of the caller's current frame now; empty without one
}

// A FrameSample counts frames and names the first of them.
type FrameSample struct {
	First []core.Frame // at most 20
	Count int
}

// tallied limits the frames that a FrameSample names.
const tallied = 20

// tally counts frames by their keys, and reads the first of them.
func tally(s *project.Op, keys []int64) (t FrameSample, err error) {
	t.Count = len(keys)
	first := keys[:min(len(keys), tallied)]
	frames, err := s.Tx.FramesAt(first)
	t.First = lo.Map(first, func(key int64, _ int) core.Frame { return frames[key] })
	return t, err
}

// Invalidate marks a frame, the caller's own unless ref names another, and all planned
// frames below it as no longer valid.
func Invalidate(ctx context.Context, p *project.Project, by project.Caller, ref, reason string) (done InvalidateResult, err error) {
	if reason, err = project.RequiredText("reason", reason); err != nil {
		return done, err
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		frame, err := resolveMeant(s, ref)
		if err != nil {
			return err
		}
		if done, err = invalidate(s, frame, reason); err != nil {
			return err
		}
		if done.Current, err = s.NearestOpen(s.Session.Current); err != nil {
			return err
		}
		return autonomy.Enter(s, done.Current)
	})
	return done, err
}

// invalidate marks target and the planned frames below it as no longer valid.
func invalidate(s *project.Op, target core.Frame, reason string) (done InvalidateResult, err error) {
	if err := target.Invalidate(reason, s.Now); err != nil {
		return done, err
	}
	done.Target = target
	err = errors.Join(s.Tx.SaveFrame(target), s.Emit(core.FrameInvalidated, target.ID, map[string]any{"reason": reason}),
		EndRootLater(s, target))
	if err != nil {
		return done, err
	}
	below, err := s.InvalidateBelow(target)
	if err != nil {
		return done, err
	}
	if done.Planned, err = tally(s, below.Planned); err == nil {
		done.InProgress, err = tally(s, below.InProgress)
	}
	return done, err
}
