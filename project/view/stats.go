package view

import (
	"context"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/conversation"
	"flame/project/usage"
)

// Stats are the numbers of a project.
type Stats struct {
	Frames   map[core.Status]int `json:"frames"`
	Total    int                 `json:"total"`
	Sessions map[string]int      `json:"sessions"` // of people in hosts, by state; neither subagents nor the shell
	Usage    core.Usage          `json:"usage"`
	Revision int64               `json:"revision"`

	Requests []conversation.HostMeter `json:"requests"` // to models, of hosts whose requests flame sees
	Folds    bool                     `json:"folds"`    // they leave finished frames out

	Metered []usage.Metered `json:"metered,omitempty"` // requests that gateways measured, by host and class
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
			if isPersons(session) {
				stats.Sessions[string(session.State)]++
			}
		}
		stats.Folds = p.Fold
		if stats.Requests, err = conversation.ByHost(tx, sessions); err != nil {
			return err
		}
		if stats.Metered, err = usage.ByClass(tx); err != nil {
			return err
		}
		stats.Usage, _, err = tx.UsageUnder("", 0)
		return err
	})
	return stats, err
}

// MeteredOf returns what the requests of the project came to that gateways measured, by
// host and class.
func MeteredOf(ctx context.Context, p *project.Project) (all []usage.Metered, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		all, err = usage.ByClass(tx)
		return err
	})
	return all, err
}

// A ListedSession is a session of a person in a host, with what it is about.
type ListedSession struct {
	core.Session
	Goal     string          `json:"goal,omitempty"`     // of its root
	Usage    core.Usage      `json:"usage"`              // of its root and all below that: subagents and agents too
	Requests *fold.Meter     `json:"requests,omitempty"` // its own ones to its model; nil if flame does not see them
	Metered  []usage.Metered `json:"metered,omitempty"`  // its own ones that a gateway measured, by class
}

// SessionArgs say which sessions to list.
type SessionArgs struct {
	Ended bool // ended ones too
	Limit int  // the greatest number; 0: all
}

// SessionsOf returns the sessions of people in hosts, the one that was heard of last
// first, and how many more there are.
func SessionsOf(ctx context.Context, p *project.Project, args SessionArgs) (listed []ListedSession, more int, err error) {
	listed = []ListedSession{}
	err = p.Store.View(ctx, func(tx project.Tx) error {
		all, err := tx.FindSessions(project.SessionQuery{})
		if err != nil {
			return err
		}
		for _, session := range all {
			switch {
			case !isPersons(session) || session.State == core.SessionEnded && !args.Ended:
			case args.Limit > 0 && len(listed) == args.Limit:
				more++
			default:
				one, err := listedSession(tx, session)
				if err != nil {
					return err
				}
				listed = append(listed, one)
			}
		}
		return nil
	})
	return listed, more, err
}

// isPersons reports whether a person talks in the session: it is neither a subagent's
// nor an agent's nor the shell's.
func isPersons(s core.Session) bool { return s.Parent == "" && s.Host != project.CommandLine }

func listedSession(tx project.Tx, session core.Session) (ListedSession, error) {
	listed := ListedSession{Session: session}
	requests, err := conversation.Requests(tx, session.ID)
	if err != nil {
		return listed, err
	}
	if requests.Requests > 0 {
		listed.Requests = &requests
	}
	if listed.Metered, err = usage.OfSession(tx, session.ID); err != nil {
		return listed, err
	}
	if !session.HasFrame() {
		return listed, nil
	}
	root, err := tx.Frame(session.Root)
	if err != nil {
		return listed, project.IgnoreMissing(err)
	}
	listed.Goal = root.Goal
	return listed, project.EachUnder(tx, root.ID, func(f core.Frame) error {
		listed.Usage = listed.Usage.Add(f.Usage)
		return nil
	})
}

// Events returns the events that q describes, oldest first.
func Events(ctx context.Context, p *project.Project, q project.EventQuery) (events []core.Event, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		events, err = tx.FindEvents(q)
		return err
	})
	return events, err
}

// Goals returns what the frames of events are for, by their ids; those that are gone are
// absent.
func Goals(ctx context.Context, p *project.Project, events []core.Event) (goals map[string]string, err error) {
	goals = map[string]string{}
	err = p.Store.View(ctx, func(tx project.Tx) error {
		for _, e := range events {
			if _, known := goals[e.Frame]; known || e.Frame == "" {
				continue
			}
			frame, err := tx.Frame(e.Frame)
			if project.IgnoreMissing(err) != nil {
				return err
			}
			goals[e.Frame] = frame.Goal
		}
		return nil
	})
	return goals, err
}

// Revision returns a number that rises with every change of the tree.
func Revision(ctx context.Context, p *project.Project) (revision int64, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		revision, _, err = tx.Revision()
		return err
	})
	return revision, err
}
