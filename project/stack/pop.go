package stack

import (
	"context"
	"errors"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/op"
	"flame/core/summaries"
	"flame/project"
	"flame/project/autonomy"
)

// Pop ends a frame, records args in it, and takes up the next frame; what args names as next
// never keeps the frame from ending. It refuses a root unless args names it, and a frame with
// children in progress unless forced. A refused call changes nothing.
func Pop(ctx context.Context, p *project.Project, by project.Caller, args PopArgs) (popped PopResult, err error) {
	if err := args.Check(); err != nil {
		return popped, err
	}
	claimed, unclaimed := claimNext(ctx, p, by, args)
	refused, ok := errors.AsType[*core.Problem](unclaimed)
	if unclaimed != nil && !ok {
		return popped, unclaimed
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		frame, err := toEnd(s, args.Frame)
		if err != nil {
			return err
		}
		if popped, err = poppable(s, frame, args); err != nil {
			return err
		}
		then, unknown := nextOf(s, frame, args.Next)
		if err := recordLast(s, &popped, args); err != nil {
			return err
		}
		if args.GenerateSummary {
			err = awaitSummary(s, &popped, args)
		} else {
			err = finish(s, &popped, args)
		}
		if err != nil {
			return err
		}
		if err := autonomy.ActOn(s, frame.ID, core.SuggestPop); err != nil {
			return err
		}
		switch {
		case args.wrongNext != nil:
			return popped.stay(args.wrongNext)
		case unknown != nil:
			return popped.stay(unknown)
		case refused != nil:
			popped.NotNext = refused
			return nil
		case args.Next == "" || then != nil && then.ID == popped.Current:
			return nil
		}
		return goOn(s, &popped, args.Next, then, claimed)
	})
	return popped, err
}

// toEnd returns the frame that a call asks to end; by default the caller's.
func toEnd(s *project.Op, ref string) (core.Frame, error) {
	frame, err := resolveMeant(s, ref)
	if err == nil {
		err = s.CheckLocal(frame)
	}
	return frame, err
}

// claimNext claims the frame that a pop names as next, if another machine has it and the pop
// itself is allowed.
func claimNext(ctx context.Context, p *project.Project, by project.Caller, args PopArgs) (claimed core.Frame, err error) {
	if args.Next == "" {
		return claimed, nil
	}
	return claim(ctx, p, by, func(s *project.Op) (none core.Frame, err error) {
		frame, err := toEnd(s, args.Frame)
		if err != nil {
			return none, err
		}
		if _, err := poppable(s, frame, args); err != nil {
			return none, err
		}
		next, err := nextOf(s, frame, args.Next)
		if err != nil || next == nil || next.Status != core.Planned {
			return none, err
		}
		_, err = standing(s, *next)
		return *next, err
	})
}

// finish is Finish for a caller whose answer shows the composed summary of the frame.
func finish(s *project.Op, popped *PopResult, args PopArgs) error {
	if err := Finish(s, popped, args); err != nil {
		return err
	}
	outcomes, err := project.Outcomes(s.Tx, []core.Frame{popped.Frame})
	popped.ComposedSummary = outcomes.Compose(&popped.Frame, map[string]bool{}, summaries.MaxChars)
	return err
}

// poppable checks that frame may end now and collects the data for the reply.
func poppable(s *project.Op, frame core.Frame, args PopArgs) (popped PopResult, err error) {
	popped.Frame = frame
	if frame.Parent == "" && args.Frame == "" {
		return popped, core.Invalidf("%s is the root of this session's tree", frame.ID).
			WithHint("to end the whole tree pass %s %q; %s starts a piece of work below it", op.ArgFrame, frame.ID, op.Push)
	}
	if trial := frame; !frame.CanTransition(args.Status) {
		return popped, trial.Transition(args.Status, s.Now)
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
	if popped.EndedBelow, popped.More, err = endedInside(s, frame.ID); err != nil {
		return popped, err
	}
	goal, _, err := recordSaid.Get(s.Tx, frame.ID)
	if popped.GoalShown = goal == (shownGoal{s.Session.ID, frame.Goal}); err != nil {
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

// nextPlanned returns the oldest planned frame beside a frame.
func nextPlanned(s *project.Op, frame core.Frame) (*core.Frame, error) {
	beside, err := s.Tx.FindFrames(project.FrameQuery{Parent: frame.Parent, Statuses: []core.Status{core.Planned}, Limit: 1})
	if err != nil || len(beside) == 0 {
		return nil, err
	}
	return &beside[0], nil
}

// recordLast records the decisions and artifacts of a pop in its frame, each with the event
// of a separate call, and notes what the frame had before.
func recordLast(s *project.Op, popped *PopResult, args PopArgs) error {
	frame := &popped.Frame
	artifacts := lo.Map(args.Artifacts, func(a string, _ int) string { return s.Project.ArtifactPath(a) })
	popped.EarlierTexts = FrameTexts{
		Decisions: lo.Without(frame.Decisions, args.Decisions...), Artifacts: lo.Without(frame.Artifacts, artifacts...),
	}
	if args.Summary == "" {
		popped.EarlierTexts.Summary = frame.Summary
	}
	var changes []map[string]any
	for _, decision := range args.Decisions {
		if frame.AddDecision(decision, s.Now) {
			changes = append(changes, updated(edits{"decisions": decision}))
		}
	}
	for _, artifact := range artifacts {
		if frame.AddArtifact(artifact, s.Now) {
			changes = append(changes, updated(edits{"artifacts": artifact}))
		}
	}
	if len(changes) == 0 {
		return nil
	}
	if err := s.Tx.SaveFrame(*frame); err != nil {
		return err
	}
	for _, change := range changes {
		if err := s.Emit(core.FrameUpdated, frame.ID, change); err != nil {
			return err
		}
	}
	return nil
}

// Limits of endedInside.
const (
	maxInside  = 5   // frames that it returns
	maxVisited = 500 // frames that it looks at
)

// endedInside returns ended frames below a frame, and reports whether there may be others.
func endedInside(s *project.Op, id string) (ended []core.Frame, more bool, err error) {
	visited := 0
	childrenOf := func(id string) []core.Frame {
		frames, failed := s.Tx.FindFrames(project.FrameQuery{Parent: id, Archived: true, Limit: maxVisited + 1 - visited})
		err = errors.Join(err, failed)
		return frames
	}
	for f := range core.Descendants(id, func(f core.Frame) string { return f.ID }, childrenOf) {
		if visited++; visited > maxVisited || len(ended) == maxInside && f.Status.Ended() {
			return ended, true, err
		}
		if f.Status.Ended() {
			ended = append(ended, f)
		}
	}
	return ended, false, err
}
