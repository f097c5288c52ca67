package stack

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/digest"
	"flame/core/op"
	"flame/project"
	"flame/project/autonomy"
)

// Pop ends a frame, records args in it, and takes up the next frame. It refuses a root unless
// args names it, and a frame with children in progress unless forced. A refused call changes
// nothing.
func Pop(ctx context.Context, p *project.Project, by project.Caller, args PopArgs) (popped Popped, err error) {
	if err := args.Check(); err != nil {
		return popped, err
	}
	claimed, err := claimNext(ctx, p, by, args)
	if err != nil {
		return popped, undone(err)
	}
	err = p.Update(ctx, by, func(s *project.Step) error {
		frame, err := toEnd(s, args.Frame)
		if err != nil {
			return err
		}
		if popped, err = poppable(s, frame, args); err != nil {
			return err
		}
		then, err := nextOf(s, args.Next)
		if err != nil {
			return err
		}
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
		if err := autonomy.ActOn(s, frame.ID, core.SuggestPop); err != nil || args.Next == "" {
			return err
		}
		return goOn(s, &popped, args.Next, then, claimed)
	})
	return popped, err
}

// toEnd returns the frame that a call asks to end; by default the caller's.
func toEnd(s *project.Step, ref string) (core.Frame, error) {
	frame, err := resolveMeant(s, ref)
	if err == nil {
		err = s.MayWork(frame)
	}
	return frame, err
}

// claimNext claims the frame that a pop names as next, if another machine has it and the pop
// itself is allowed.
func claimNext(ctx context.Context, p *project.Project, by project.Caller, args PopArgs) (claimed core.Frame, err error) {
	if args.Next == "" {
		return claimed, nil
	}
	return claim(ctx, p, by, func(s *project.Step) (none core.Frame, err error) {
		frame, err := toEnd(s, args.Frame)
		if err != nil {
			return none, err
		}
		if _, err := poppable(s, frame, args); err != nil {
			return none, err
		}
		next, err := nextOf(s, args.Next)
		if err != nil || next == nil || next.Status != core.Planned {
			return none, err
		}
		_, err = standing(s, *next)
		return *next, err
	})
}

// finish is Finish for a caller whose answer shows the composed summary of the frame.
func finish(s *project.Step, popped *Popped, args PopArgs) error {
	if err := Finish(s, popped, args); err != nil {
		return err
	}
	outcomes, err := project.Outcomes(s.Tx, []core.Frame{popped.Frame})
	popped.Below = outcomes.Compose(&popped.Frame, map[string]bool{}, digest.Room)
	return err
}

// poppable checks that frame may end now and collects the data for the reply.
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
	if popped.Inside, popped.More, err = endedInside(s, frame.ID); err != nil {
		return popped, err
	}
	goal, _, err := recordSaid.Get(s.Tx, frame.ID)
	if popped.Said = goal == (said{s.Session.ID, frame.Goal}); err != nil {
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
func nextPlanned(s *project.Step, frame core.Frame) (*core.Frame, error) {
	beside, err := s.Tx.FindFrames(project.FrameQuery{Parent: frame.Parent, Statuses: []core.Status{core.Planned}, Limit: 1})
	if err != nil || len(beside) == 0 {
		return nil, err
	}
	return &beside[0], nil
}

// recordLast records the decisions and artifacts of a pop in its frame, each with the event
// of a separate call, and notes what the frame had before.
func recordLast(s *project.Step, popped *Popped, args PopArgs) error {
	frame := &popped.Frame
	artifacts := lo.Map(args.Artifacts, func(a string, _ int) string { return s.Project.Relative(a) })
	popped.Before = Recorded{
		Decisions: lo.Without(frame.Decisions, args.Decisions...), Artifacts: lo.Without(frame.Artifacts, artifacts...),
	}
	if args.Summary == "" {
		popped.Before.Summary = frame.Summary
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

// nextOf returns the frame that a pop names as next; nil if next is a goal, or empty. A text
// that looks like an id, or the beginning of one, never counts as a goal.
func nextOf(s *project.Step, next string) (*core.Frame, error) {
	frame, err := s.Tx.Frame(next) // imported frames have ids of any form
	if likeID().MatchString(next) {
		frame, err = s.Resolve(next)
	} else if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return &frame, undone(err)
}

// goOn takes up the next frame of a pop, once the popped frame has ended: planned or, if that
// is nil, a new frame for goal. planned must lie below the frame that became current, if
// there is one. claimed is the claimed frame of another machine.
func goOn(s *project.Step, popped *Popped, goal string, planned *core.Frame, claimed core.Frame) error {
	if planned == nil {
		frame, err := push(s, goal, "")
		popped.Then, popped.Current = &Activated{Frame: frame}, frame.ID
		return errors.Join(err, recordSaid.Save(s.Tx, frame.ID, said{s.Session.ID, frame.Goal}))
	}
	if err := mayFollow(s, *planned); err != nil {
		return undone(err)
	}
	done, err := activate(s, *planned, claimed, false)
	if err != nil {
		return undone(err)
	}
	popped.Then, popped.Current = &done, planned.ID
	if err := recordSaid.Save(s.Tx, planned.ID, said{s.Session.ID, planned.Goal}); err != nil {
		return err
	}
	popped.Planned = slices.DeleteFunc(popped.Planned, func(f core.Frame) bool { return f.ID == planned.ID })
	return nil
}

// likeID matches a text that begins as ids do and has nothing else in it.
var likeID = core.Pattern(`^(frame|plan)-[a-z0-9]*\z`)

// mayFollow refuses a frame that a pop cannot take up as the next one.
func mayFollow(s *project.Step, frame core.Frame) error {
	switch frame.Status {
	case core.Planned:
	case core.Invalidated:
		return core.Invalidf("next is %s, which is invalidated", frame.ID).
			WithHint("name a planned frame, or give the goal of a new one in words; %s shows the frames", op.Tree)
	default:
		return core.Invalidf("next is %s, which is %s, not planned", frame.ID, frame.Status).
			WithHint("leave %s out; %s %s can take that frame up afterwards", op.ArgNext, op.Activate, frame.ID)
	}
	current, ok, err := s.Current()
	if err != nil {
		return err
	}
	above := current.ID
	if !ok {
		if above, err = s.ParentFrame(); above == "" || err != nil {
			return err
		}
	}
	if inside, err := s.IsInside(frame.ID, above); inside || err != nil {
		return err
	}
	return core.Invalidf("next is %s, which is not below %s, the frame to go back to", frame.ID, above).
		WithHint("leave %s out; %s %s can take that frame up afterwards", op.ArgNext, op.Activate, frame.ID)
}

// undone adds to an error about the next frame that the pop did not take place.
func undone(err error) error {
	problem, ok := errors.AsType[*core.Problem](err)
	if !ok {
		return err
	}
	told := *problem
	told.Message += "; nothing was done"
	return &told
}

// Limits of endedInside.
const (
	maxInside  = 50  // ids that it returns
	maxVisited = 500 // frames that it looks at
)

// endedInside returns the ids of ended frames below a frame, and reports whether there may
// be others.
func endedInside(s *project.Step, id string) (ids []string, more bool, err error) {
	visited := 0
	idOf := func(f core.Frame) string { return f.ID }
	for f, err := range core.Below(id, idOf, func(id string) iter.Seq2[core.Frame, error] { return childrenOf(s, id) }) {
		if err != nil {
			return nil, false, err
		}
		if visited++; visited > maxVisited || len(ids) == maxInside && f.Status.Ended() {
			return ids, true, nil
		}
		if f.Status.Ended() {
			ids = append(ids, f.ID)
		}
	}
	return ids, false, nil
}

// childrenOf yields the children of a frame, oldest first, a page at a time.
func childrenOf(s *project.Step, id string) iter.Seq2[core.Frame, error] {
	const page = 100
	return func(yield func(core.Frame, error) bool) {
		query := project.FrameQuery{Parent: id, Archived: true, Limit: page}
		for {
			children, err := s.Tx.FindFrames(query)
			if err != nil {
				yield(core.Frame{}, err)
				return
			}
			for _, f := range children {
				if !yield(f, nil) {
					return
				}
			}
			if len(children) < page {
				return
			}
			query.After = children[page-1].ID
		}
	}
}
