package view

import (
	"cmp"
	"context"
	"slices"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/conversation"
	"flame/project/usage"
)

// An Economy is what folding saved a project, and what its requests came to.
type Economy struct {
	Folds    bool                     `json:"folds"`    // finished frames are left out of requests
	Requests []conversation.HostMeter `json:"requests"` // of hosts whose requests flame sees
	Metered  []usage.Metered          `json:"metered"`  // that gateways measured, by host and class
	Frames   []FoldedFrame            `json:"frames"`   // the one that saved most first
}

// A FoldedFrame is a frame that requests go without.
type FoldedFrame struct {
	ID   string `json:"id"`
	Goal string `json:"goal"`
	fold.Spared
}

// EconomyOf returns what folding saved the project.
func EconomyOf(ctx context.Context, p *project.Project) (e Economy, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		sessions, err := tx.FindSessions(project.SessionQuery{})
		if err != nil {
			return err
		}
		e = Economy{Folds: p.Fold, Metered: []usage.Metered{}, Frames: []FoldedFrame{}}
		if e.Requests, err = conversation.ByHost(tx, sessions); err != nil {
			return err
		}
		if e.Metered, err = usage.ByClass(tx); err != nil {
			return err
		}
		for _, session := range sessions {
			spared, err := conversation.SparedBy(tx, session.ID)
			if err != nil {
				return err
			}
			for id, s := range spared {
				frame, err := tx.Frame(id)
				if project.IgnoreMissing(err) != nil {
					return err
				}
				e.Frames = append(e.Frames, FoldedFrame{id, core.OneLine(frame.Goal, project.MaxTitle), s})
			}
		}
		slices.SortFunc(e.Frames, func(x, y FoldedFrame) int {
			return cmp.Or(cmp.Compare(y.LeftOut, x.LeftOut), cmp.Compare(y.Tokens, x.Tokens), cmp.Compare(x.ID, y.ID))
		})
		return nil
	})
	return e, err
}
