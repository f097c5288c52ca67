package view

import (
	"context"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// A Cascade is what the invalidation of a frame would come to.
type Cascade struct {
	Planned    Affected `json:"planned"`    // would be invalidated with it
	InProgress Affected `json:"inProgress"` // would go on; whoever works there would be told
}

// Affected counts frames and names the first of them.
type Affected struct {
	Count int             `json:"count"`
	First []AffectedFrame `json:"first"`
}

// An AffectedFrame is one of them.
type AffectedFrame struct {
	ID   string `json:"id"`
	Goal string `json:"goal"`
}

// maxAffected is how many frames are named.
const maxAffected = 20

// CascadeOf returns what the invalidation of the frame that ref names would come to.
func CascadeOf(ctx context.Context, p *project.Project, by project.Caller, ref string) (c Cascade, err error) {
	err = p.View(ctx, by, func(s *project.Step) error {
		top, err := s.Resolve(ref)
		if err != nil {
			return err
		}
		if c.Planned, err = affected(s.Tx, top, core.Planned); err != nil {
			return err
		}
		c.InProgress, err = affected(s.Tx, top, core.InProgress)
		return err
	})
	return c, err
}

// affected finds the frames below one that have a status.
func affected(tx project.Tx, top core.Frame, status core.Status) (a Affected, err error) {
	query := project.FrameQuery{Under: top.ID, Statuses: []core.Status{status}, Archived: true}
	counts, err := tx.CountFrames(query)
	if err != nil {
		return a, err
	}
	query.Limit = maxAffected + 1 // top may be among them
	found, err := tx.FindFrames(query)
	if err != nil {
		return a, err
	}
	a.Count = counts[status]
	if top.Status == status {
		a.Count--
	}
	below := lo.Filter(found, func(f core.Frame, _ int) bool { return f.ID != top.ID })
	a.First = lo.Map(below[:min(len(below), maxAffected)], func(f core.Frame, _ int) AffectedFrame {
		return AffectedFrame{f.ID, core.OneLine(f.Goal, project.MaxTitle)}
	})
	return a, nil
}
