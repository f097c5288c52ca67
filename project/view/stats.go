package view

import (
	"context"

	"flame/core"
	"flame/project"
)

// Stats are the numbers of a project.
type Stats struct {
	Frames   map[core.Status]int `json:"frames"`
	Total    int                 `json:"total"`
	Sessions map[string]int      `json:"sessions"` // of people in hosts, by state; neither subagents nor the shell
	Usage    core.Usage          `json:"usage"`
	Revision int64               `json:"revision"`
}

// StatsOf returns the numbers of the project.
func StatsOf(ctx context.Context, p *project.Project) (stats Stats, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		if stats.Frames, err = tx.CountFrames(project.FrameQuery{Archived: true}); err != nil {
			return err
		}
		stats.Total = project.Total(stats.Frames)
		if stats.Revision, _, err = tx.Revision(); err != nil {
			return err
		}
		sessions, err := tx.FindSessions(project.SessionQuery{})
		if err != nil {
			return err
		}
		stats.Sessions = map[string]int{}
		for _, session := range sessions {
			if session.Parent == "" && session.Host != project.CommandLine {
				stats.Sessions[string(session.State)]++
			}
		}
		stats.Usage, err = tx.TotalUsage()
		return err
	})
	return stats, err
}

// Events returns the events that q describes, oldest first.
func Events(ctx context.Context, p *project.Project, q project.EventQuery) (events []core.Event, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		events, err = tx.FindEvents(q)
		return err
	})
	return events, err
}

// Revision returns a number that rises with every change of the tree.
func Revision(ctx context.Context, p *project.Project) (revision int64, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		revision, _, err = tx.Revision()
		return err
	})
	return revision, err
}
