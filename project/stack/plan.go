package stack

import (
	"context"
	"errors"
	"slices"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/autonomy"
)

// A PlannedChild is one piece of later work.
type PlannedChild struct {
	Goal            string
	SuccessCriteria string
}

// maxPlanned limits the frames of one Plan call: more than an agent plans at once, and few
// enough for one short transaction.
const maxPlanned = 200

// PlanResult is the result of Plan.
type PlanResult struct {
	Parent   *core.Frame  // nil for roots
	Frames   []core.Frame // in the order asked for
	Existing []string     // ids of the frames among them that were there before, planned or in progress
}

// maxBeside limits the frames with which Plan compares new ones, the latest change first.
const maxBeside = 1000

// Plan makes planned frames below parentRef, or by default below the caller's current
// frame, in the order given. A caller without a frame plans roots. Plan does not repeat a
// goal that is already planned or in progress there.
func Plan(ctx context.Context, p *project.Project, by project.Caller, parentRef string, children []PlannedChild) (plan PlanResult, err error) {
	if children, err = cleanPlan(children); err != nil {
		return plan, err
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		plan = PlanResult{}
		if plan.Parent, err = planParent(s, parentRef); err != nil {
			return err
		}
		open, err := openBeside(s, plan.Parent, maxBeside)
		if err != nil {
			return err
		}
		under, made := "", []string{}
		if plan.Parent != nil {
			under = plan.Parent.ID
		}
		items, err := openItems(s, under)
		if err != nil {
			return err
		}
		for _, child := range children {
			if item := sameGoal(items, child.Goal); item != nil {
				plan.Frames, plan.Existing = append(plan.Frames, *item), append(plan.Existing, item.ID)
				continue
			}
			if at := slices.IndexFunc(open, func(f core.Frame) bool { return f.Goal == child.Goal }); at >= 0 {
				plan.Frames, plan.Existing = append(plan.Frames, open[at]), append(plan.Existing, open[at].ID)
				open = slices.Delete(open, at, at+1) // a plan may contain a goal twice
				continue
			}
			frame := core.Frame{Parent: under, Goal: child.Goal, SuccessCriteria: child.SuccessCriteria, Status: core.Planned}
			if frame, err = s.Create(frame); err != nil {
				return err
			}
			plan.Frames, made = append(plan.Frames, frame), append(made, frame.ID)
		}
		if plan.Parent == nil || len(made) == 0 {
			return nil
		}
		plan.Parent.PlannedChildren, plan.Parent.UpdatedAt = append(plan.Parent.PlannedChildren, made...), s.Now
		return s.Tx.SaveFrame(*plan.Parent)
	})
	return plan, err
}

// openBeside returns the frames below parent, or the roots, that are planned or in
// progress, at most limit of them.
func openBeside(s *project.Op, parent *core.Frame, limit int) ([]core.Frame, error) {
	q := project.FrameQuery{Roots: parent == nil, Statuses: []core.Status{core.Planned, core.InProgress}, Order: project.RecentFirst, Limit: limit}
	if parent != nil {
		q.Parent = parent.ID
	}
	return s.Tx.FindFrames(q)
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
		if cleaned[i].Goal, err = project.RequiredText("goal", child.Goal); err != nil {
			return nil, err
		}
		if cleaned[i].SuccessCriteria, err = project.OptionalText("successCriteria", child.SuccessCriteria); err != nil {
			return nil, err
		}
	}
	return cleaned, nil
}

// planParent returns the frame to plan under; nil for roots.
func planParent(s *project.Op, ref string) (*core.Frame, error) {
	if ref == "" {
		_, ok, err := s.Current()
		if err != nil {
			return nil, err
		}
		if err := pushesBelowRoot(s); err != nil {
			return nil, err
		}
		if !ok && (s.Caller.Anonymous() || s.Session.HasFrame()) {
			return nil, nil
		}
	}
	parent, err := target(s, ref)
	if err != nil {
		return nil, err
	}
	if parent.Status == core.Completed || parent.Status == core.Failed || parent.Status == core.Invalidated {
		return nil, core.Invalidf("%s is %s, so nothing can be planned under it", parent.ID, parent.Status).
			WithHint("plan under a frame that is planned, in progress or blocked; %s reopens a finished one", op.Activate)
	}
	above, err := s.Tx.Ancestors(parent.ID, 0)
	if err != nil {
		return nil, err
	}
	if void := invalidatedIn(above); void != nil {
		return nil, core.Invalidf("%s lies below %s, which is invalidated, so nothing can be planned under it", parent.ID, void.ID).
			WithHint("plan under a frame outside of %s; %s shows them", void.ID, op.Tree)
	}
	return &parent, nil
}

// invalidatedIn returns the first invalidated frame; nil without one.
func invalidatedIn(frames []core.Frame) *core.Frame {
	at := slices.IndexFunc(frames, func(f core.Frame) bool { return f.Status == core.Invalidated })
	if at < 0 {
		return nil
	}
	return &frames[at]
}

// ActivateResult is the result of Activate.
type ActivateResult struct {
	Frame          core.Frame
	From           core.Status // its status before
	PrevSession    string      // session that had the frame; empty if Activate took it from none
	Machine        string      // id of the machine that had the frame; empty if Activate took it from none
	EndedParent    core.Status // of its parent, if that has ended; else empty
	AlreadyCurrent bool        // it was already the caller's current frame, and nothing changed
}

// Activate takes up a frame: a planned, blocked, completed or failed one, or one in progress
// whose sessions have all ended, or with force any one in progress. It becomes the caller's
// current frame. Its parent may have ended: a finished frame can leave work. Activate
// refuses a planned frame below an invalidated one. It takes over a frame of another machine
// by a claim.
func Activate(ctx context.Context, p *project.Project, by project.Caller, ref string, force bool) (a ActivateResult, err error) {
	if ref = strings.TrimSpace(ref); ref == "" {
		return a, core.Invalidf("sessionID is empty").WithHint("give the id of the frame to take up; %s shows them", op.Tree)
	}
	claimed, err := claim(ctx, p, by, func(s *project.Op) (core.Frame, error) {
		frame, err := s.Resolve(ref)
		if err == nil {
			_, err = standing(s, frame)
		}
		return frame, err
	})
	if err != nil {
		return a, err
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		frame, err := s.Resolve(ref)
		if err == nil {
			a, err = activate(s, frame, claimed, force)
		}
		return err
	})
	return a, err
}

// ActivateIn is Activate inside a step, for a frame of this machine in which no session works.
func ActivateIn(s *project.Op, frame core.Frame) error {
	_, err := activate(s, frame, core.Frame{}, false)
	return err
}

// activate is Activate inside a step; claimed is the claimed frame of another machine.
func activate(s *project.Op, frame, claimed core.Frame, force bool) (a ActivateResult, err error) {
	a.From = frame.Status
	if a.EndedParent, err = standing(s, frame); err != nil {
		return a, err
	}
	if err := takeFrom(&frame, claimed, &a); err != nil {
		return a, err
	}
	if frame.Status == core.InProgress {
		err = takeOver(s, &frame, force, &a)
	} else {
		err = start(s, &frame, a.Machine)
	}
	if err != nil {
		return a, err
	}
	left, _, err := s.Current()
	if err != nil {
		return a, err
	}
	a.Frame = frame
	if err := errors.Join(autonomy.Enter(s, frame.ID), settleIn(s, frame)); err != nil {
		return a, err
	}
	if left.ID == frame.ID {
		a.AlreadyCurrent = a.PrevSession == "" && a.Machine == ""
		return a, nil // nothing was started
	}
	return a, pushedBelow(s, left.ID)
}

// standing returns the status of the frame's parent if that has ended. It refuses a planned
// frame below an invalidated one, at any depth: older versions of flame could leave such
// frames.
func standing(s *project.Op, frame core.Frame) (parent core.Status, err error) {
	above, err := s.Tx.Ancestors(frame.ID, 0)
	if err != nil || len(above) == 0 {
		return "", err
	}
	if void := invalidatedIn(above); void != nil && frame.Status == core.Planned {
		why := core.OneLine(void.InvalidationReason, project.MaxTitle)
		return "", core.Invalidf("%s lies below %s, which is invalidated: %s", frame.ID, void.ID, why).
			WithHint("if the work still makes sense, push or plan it anew outside of %s; else %s %s", void.ID, op.Invalidate, frame.ID)
	}
	if parent = above[0].Status; parent.Ended() || parent == core.Invalidated {
		return parent, nil
	}
	return "", nil
}

// start puts a frame into progress for the caller's session. machine is the one from which
// this machine took the frame over; empty if none.
func start(s *project.Op, frame *core.Frame, machine string) error {
	event := core.FrameActivated
	if frame.Status == core.Completed || frame.Status == core.Failed {
		event = core.FrameReopened
	}
	from, move := frame.Status, frame.Transition
	if staysWith(s, *frame) {
		move = func(_ core.Status, now core.Millis) error { return frame.Reopen(now) }
	}
	if err := move(core.InProgress, s.Now); err != nil {
		return err
	}
	assign(s, frame)
	frame.ArchivedAt = 0
	if err := s.Tx.SaveFrame(*frame); err != nil {
		return err
	}
	return s.Emit(event, frame.ID, fromMachine(machine, map[string]any{"from": from}))
}

// staysWith reports whether a frame that the caller takes up stays with the session that
// worked in it, as do its cost and its time: the caller is a person at a shell.
func staysWith(s *project.Op, frame core.Frame) bool {
	return s.Session.Host == project.CommandLine && frame.Session != "" && frame.Session != project.CommandLine
}

// assign makes the caller's session the one that works in a frame.
func assign(s *project.Op, frame *core.Frame) {
	if !staysWith(s, *frame) {
		frame.Session = s.Session.ID
	}
}

// fromMachine adds to the data of an event the machine from which this one took the frame.
func fromMachine(machine string, data map[string]any) map[string]any {
	if machine != "" {
		data["fromMachine"] = machine
	}
	return data
}

// takeOver gives the caller a frame in progress in which no live session works, or which was
// claimed from another machine.
func takeOver(s *project.Op, frame *core.Frame, force bool, a *ActivateResult) error {
	owner, err := LiveOwner(s, *frame)
	if err != nil {
		return err
	}
	if owner != "" && !force && a.Machine == "" {
		return core.Invalidf("%s is in progress in session %s", frame.ID, owner).
			WithHint("let that session finish it, or pass %s if that session is gone", op.ArgForce)
	}
	if frame.Session == s.Session.ID && a.Machine == "" {
		return nil
	}
	a.PrevSession = frame.Session
	assign(s, frame)
	frame.UpdatedAt = s.Now
	if err := s.Tx.SaveFrame(*frame); err != nil {
		return err
	}
	return s.Emit(core.FrameActivated, frame.ID, fromMachine(a.Machine, map[string]any{"from": core.InProgress, "takenFrom": a.PrevSession}))
}

// claim claims the frame of another machine that find returns, before the transaction of the
// operation that takes up the frame. It returns the frame. It returns the zero Frame if no
// claim is needed or possible, or if find fails, because then the operation fails too.
func claim(ctx context.Context, p *project.Project, by project.Caller, find func(*project.Op) (core.Frame, error)) (claimed core.Frame, err error) {
	if !p.MayClaim() {
		return claimed, nil // takeFrom refuses the frame
	}
	err = p.View(ctx, by, func(s *project.Op) error {
		frame, err := find(s)
		if err == nil && frame.IsRemote() && (frame.Status == core.InProgress || frame.CanTransition(core.InProgress)) {
			claimed = frame
		}
		return nil
	})
	if err != nil || claimed.ID == "" {
		return core.Frame{}, err
	}
	return claimed, p.Claim(ctx, claimed)
}

// takeFrom makes a claimed frame of another machine a frame of this machine.
func takeFrom(frame *core.Frame, claimed core.Frame, a *ActivateResult) error {
	switch {
	case !frame.IsRemote() || frame.Status != core.InProgress && !frame.CanTransition(core.InProgress):
		return nil
	case claimed.ID == "":
		return project.UnclaimedError(*frame)
	case claimed.ID != frame.ID || claimed.Machine != frame.Machine:
		return core.Invalidf("%s has just gone to machine %s", frame.ID, frame.Machine).WithHint("look at the work there, or try again")
	}
	a.Machine, frame.Machine = frame.Machine, ""
	return nil
}
