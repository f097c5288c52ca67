package stack

import (
	"context"

	"flame/core"
	"flame/project"
)

// claim claims the frame of another machine that an operation is to begin, as find returns
// it, before the operation's own transaction. It returns the frame; the zero Frame if no
// claim is needed or can be had, or the operation fails anyway, as find does.
func claim(ctx context.Context, p *project.Project, by project.Caller, find func(*project.Step) (core.Frame, error)) (claimed core.Frame, err error) {
	if !p.MayClaim() {
		return claimed, nil // which takeFrom refuses
	}
	err = p.View(ctx, by, func(s *project.Step) error {
		frame, err := find(s)
		if err == nil && frame.Foreign() && (frame.Status == core.InProgress || frame.CanMove(core.InProgress)) {
			claimed = frame
		}
		return nil
	})
	if err != nil || claimed.ID == "" {
		return core.Frame{}, err
	}
	return claimed, p.Claim(ctx, claimed)
}

// takeFrom makes a frame of another machine this one's, if that was claimed.
func takeFrom(frame *core.Frame, claimed core.Frame, a *Activated) error {
	switch {
	case !frame.Foreign() || frame.Status != core.InProgress && !frame.CanMove(core.InProgress):
		return nil
	case claimed.ID == "":
		return project.Unclaimed(*frame)
	case claimed.ID != frame.ID || claimed.Machine != frame.Machine:
		return core.Invalidf("%s has just gone to machine %s", frame.ID, frame.Machine).WithHint("look at what is done there, or try again")
	}
	a.Machine, frame.Machine = frame.Machine, ""
	return nil
}
