package shared

import (
	"context"
	"slices"

	"flame/core"
	"flame/project"
)

// Limits of Held.
const (
	maxHeld   = 100  // frames, others' included
	maxLooked = 2000 // frames, where others' are among the first
	maxParent = 16   // sessions above that of a frame
)

// Held returns the ids of the frames in progress on this machine whose sessions are live:
// which no other machine may take over without asking. If there are very many, it returns
// the ones in which something happened last.
func Held(ctx context.Context, p *project.Project) (ids []string, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		ids = nil
		open, err := newest(tx, maxHeld)
		if err == nil && slices.ContainsFunc(open, core.Frame.Foreign) {
			open, err = newest(tx, maxLooked)
		}
		if err != nil {
			return err
		}
		live := map[string]bool{}
		for _, f := range open {
			if !f.Open() || f.Session == "" {
				continue
			}
			is, known := live[f.Session]
			if !known {
				if is, err = isLive(tx, f.Session); err != nil {
					return err
				}
				live[f.Session] = is
			}
			waits := false
			if is {
				waits, err = waitsForAgent(tx, f.ID)
			}
			if err != nil {
				return err
			}
			if is && !waits {
				ids = append(ids, f.ID)
			}
		}
		return nil
	})
	return ids, err
}

// waitsForAgent reports whether a frame is that of an agent which nothing is known of yet. Its
// session is that of who asked for the agent, but a worker elsewhere may take it over.
func waitsForAgent(tx project.Tx, frame string) (bool, error) {
	var agent string
	known, err := project.RecordAgentFrame.Load(tx, frame, &agent)
	if err != nil || !known {
		return false, err
	}
	var work project.AgentWork
	known, err = project.RecordAgentWork.Load(tx, agent, &work)
	return known && work.Session == "", err
}

// newest returns the frames in progress in which something happened last.
func newest(tx project.Tx, limit int) ([]core.Frame, error) {
	return tx.FindFrames(project.FrameQuery{Statuses: []core.Status{core.InProgress}, Order: project.RecentFirst, Limit: limit})
}

// isLive reports whether a session has not ended; a child ends with its parent.
func isLive(tx project.Tx, id string) (bool, error) {
	for range maxParent {
		session, err := tx.Session(id)
		if err != nil || session.State == core.SessionEnded {
			return false, project.IgnoreMissing(err)
		}
		if session.Parent == "" {
			return true, nil
		}
		id = session.Parent
	}
	return false, nil
}
