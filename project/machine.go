package project

import (
	"flame/core"
	"flame/core/op"
)

// A frame belongs to the machine whose session works in it. Anybody may plan below one of
// another machine, invalidate it and add decisions to it. All else is refused until this
// machine has taken it over by a claim.

// ElsewhereDeadline, by frame, is the kind of deadline that ends what only waited here for a
// frame of another machine, which has ended or was invalidated there.
const ElsewhereDeadline = "ended_elsewhere"

// MayWork refuses to work in a frame of another machine, to end it, or to change what its
// own machine says of it.
func (s *Step) MayWork(frame core.Frame) error {
	if problem := elsewhere(frame); problem != nil {
		return problem
	}
	return nil
}

// NotTaken refuses a call that names no frame, if another machine took over the one that
// the caller's session works in: the frame above it is not the one that is meant.
func (s *Step) NotTaken() error {
	frame, taken, err := s.taken(s.Session.Current)
	if err != nil || !taken {
		return err
	}
	return elsewhere(frame).WithHint("%s %s takes it over again; %s starts another frame", op.Activate, frame.ID, op.Push)
}

// taken returns a frame that a session works in, or did, and reports whether another
// machine works in it now.
func (s *Step) taken(id string) (frame core.Frame, taken bool, err error) {
	if id == "" {
		return frame, false, nil
	}
	frame, err = s.Tx.Frame(id)
	return frame, frame.Status == core.InProgress && frame.Foreign(), IgnoreMissing(err)
}

// elsewhere returns what is wrong with work in a frame of another machine; nil if it is
// this one's.
func elsewhere(frame core.Frame) *core.Problem {
	if !frame.Foreign() {
		return nil
	}
	problem := core.Invalidf("%s belongs to machine %s", frame.ID, frame.Machine)
	if frame.Status == core.InProgress || frame.CanMove(core.InProgress) {
		problem = problem.WithHint("%s %s takes it over", op.Activate, frame.ID)
	}
	return problem
}

// MayClaim reports whether frames of other machines can be claimed here. That speaks to a
// network, which is not done while a transaction is open.
func (p *Project) MayClaim() bool { return p.Claim != nil && p.joint == nil }

// Unclaimed returns the error for a frame of another machine that this one cannot claim.
func Unclaimed(frame core.Frame) error {
	return core.Invalidf("%s belongs to machine %s, and this machine is not connected to the hub now", frame.ID, frame.Machine).
		WithHint("it can be taken over once this machine is connected (`flame doctor` shows that); until then %s starts a frame of your own", op.Push)
}
