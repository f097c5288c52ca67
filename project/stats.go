package project

import (
	"context"

	"flame/core"
)

// Stats counts what a project holds.
type Stats struct {
	Frames   map[core.Status]int `json:"frames"`
	Total    int                 `json:"total"`
	Sessions map[string]int      `json:"sessions"` // by state, of the last thousand
	Usage    core.Usage          `json:"usage"`
	Revision int64               `json:"revision"`
}

// Stats counts what the project holds.
func (p *Project) Stats(ctx context.Context) (stats Stats, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		if stats.Frames, err = tx.CountFrames(FrameQuery{Archived: true}); err != nil {
			return err
		}
		stats.Total = total(stats.Frames)
		if stats.Revision, _, err = tx.Revision(); err != nil {
			return err
		}
		sessions, err := tx.FindSessions(SessionQuery{Limit: 1000})
		if err != nil {
			return err
		}
		stats.Sessions = map[string]int{}
		for _, session := range sessions {
			stats.Sessions[string(session.State)]++
		}
		stats.Usage, err = tx.TotalUsage()
		return err
	})
	return stats, err
}

// Events returns entries of the log.
func (p *Project) Events(ctx context.Context, q EventQuery) (events []core.Event, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		events, err = tx.FindEvents(q)
		return err
	})
	return events, err
}

// Revision returns a number that rises with every change of the tree.
func (p *Project) Revision(ctx context.Context) (revision int64, err error) {
	err = p.Store.View(ctx, func(tx Tx) error {
		revision, _, err = tx.Revision()
		return err
	})
	return revision, err
}
