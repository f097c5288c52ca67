package stack

import (
	"context"
	"errors"
	"strings"

	"flame/core"
	"flame/core/op"
	"flame/project"
)

// Limits of a plan that a user approved: its text, in bytes, and the name of its file, in characters.
const (
	MaxPlan     = 64 << 10
	maxPlanFile = 300
)

// KeepPlan keeps a plan that the user approved in the caller's frame, with its file as an artifact. It
// returns a line for the agent; empty if it knows the plan.
func KeepPlan(ctx context.Context, p *project.Project, by project.Caller, plan project.Plan) (line string, err error) {
	plan.Text, plan.File = core.Head(strings.TrimSpace(plan.Text), MaxPlan), core.OneLine(plan.File, maxPlanFile)
	if plan.Text == "" || !p.Plans {
		return "", nil
	}
	err = p.Update(ctx, by, func(s *project.Op) error {
		frame, ok, err := workFrame(s)
		if err != nil || !ok {
			return err
		}
		known, err := project.RecordPlan.Find(s.Tx, frame.ID)
		if err != nil || known == plan {
			return err
		}
		line = "The approved plan is kept with " + frame.ID + "; " + string(op.PlanChildren) + " can make frames of its steps."
		return errors.Join(
			s.AddArtifacts(&frame, []string{plan.File}), project.RecordPlan.Save(s.Tx, frame.ID, plan), recordApproved.Save(s.Tx, s.Session.ID, frame.ID),
		)
	})
	return line, err
}

// recordApproved, by session, is the frame that has the plan that its user approved last.
const recordApproved project.RecordKind[string] = "session.approved"

// ApprovedPlan returns a line about the plan that the user of the caller's session approved last; empty
// without one.
func ApprovedPlan(s *project.Op) (string, error) {
	at, known, err := recordApproved.Get(s.Tx, s.Session.ID)
	if !known || err != nil {
		return "", err
	}
	frame, err := s.Tx.Frame(at)
	if err != nil || frame.Status == core.Invalidated {
		return "", project.IgnoreMissing(err)
	}
	plan, err := project.RecordPlan.Find(s.Tx, at)
	return "The user approved the plan " + plan.File + ". " + string(op.Details) + " of " + at + " shows it whole.", err
}
