package view

import (
	"cmp"
	"context"
	"slices"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/usage"
)

// Stats are the numbers of a project.
type Stats struct {
	Frames   map[core.Status]int `json:"frames"`
	Total    int                 `json:"total"`
	Sessions map[string]int      `json:"sessions"` // of people in hosts, by state; neither subagents nor the shell
	Usage    core.Usage          `json:"usage"`
	Revision int64               `json:"revision"`
	Totals
}

// Totals are those of a project's requests to models.
type Totals struct {
	Requests []usage.HostMeter   `json:"requests"`          // from hosts whose requests flame sees
	Folds    bool                `json:"folds"`             // requests leave finished frames out
	Metered  []usage.ClassTotals `json:"metered,omitempty"` // requests that gateways measured, by host and class
}

// totalsOf returns the totals; sessions has all existing sessions.
func totalsOf(p *project.Project, tx project.Tx, sessions []core.Session) (r Totals, err error) {
	r.Folds = p.Fold
	if r.Requests, err = usage.RequestsByHost(tx, sessions); err == nil {
		r.Metered, err = usage.ByClass(tx)
	}
	return r, err
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
		if stats.Totals, err = totalsOf(p, tx, sessions); err != nil {
			return err
		}
		stats.Usage, _, err = tx.UsageUnder("", 0)
		return err
	})
	return stats, err
}

// A ListedSession is a session of a person in a host, with its goal and its usage. The shell is
// one if agents that it started used something.
type ListedSession struct {
	core.Session
	Goal     string              `json:"goal,omitempty"`     // of its root
	Usage    core.Usage          `json:"usage"`              // its own, and that of its subagents and agents
	Requests *fold.Meter         `json:"requests,omitempty"` // its own requests to its model; nil if flame does not see them
	Metered  []usage.ClassTotals `json:"metered,omitempty"`  // its own requests that a gateway measured, by class
}

// SessionArgs say which sessions to list.
type SessionArgs struct {
	Ended bool // also ended sessions
	Limit int  // the greatest number; 0: all
}

// SessionsOf returns the sessions of people in hosts, the latest activity first, and how
// many more there are.
func SessionsOf(ctx context.Context, p *project.Project, args SessionArgs) (listed []ListedSession, more int, err error) {
	listed = []ListedSession{}
	err = p.Store.View(ctx, func(tx project.Tx) error {
		all, err := tx.FindSessions(project.SessionQuery{})
		if err != nil {
			return err
		}
		for _, session := range all {
			shown := isPersons(session)
			if session.Host == project.CommandLine {
				spent, err := usage.Spent(tx, session.ID)
				if shown = spent != (core.Usage{}); err != nil {
					return err
				}
			}
			switch {
			case !shown || session.State == core.SessionEnded && !args.Ended:
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

// isPersons reports whether a person talks in the session: it is not the session of a
// subagent, an agent or the shell.
func isPersons(s core.Session) bool { return s.Parent == "" && s.Host != project.CommandLine }

func listedSession(tx project.Tx, session core.Session) (ListedSession, error) {
	listed := ListedSession{Session: session}
	requests, err := usage.RequestsOf(tx, session.ID)
	if err != nil {
		return listed, err
	}
	if requests.Requests > 0 {
		listed.Requests = &requests
	}
	if listed.Metered, err = usage.OfSession(tx, session.ID); err != nil {
		return listed, err
	}
	if listed.Usage, err = usage.Spent(tx, session.ID); err != nil || !session.HasFrame() {
		return listed, err
	}
	root, err := tx.Frame(session.Root)
	listed.Goal = root.Goal
	return listed, project.IgnoreMissing(err)
}

// Events returns the events that q describes, oldest first.
func Events(ctx context.Context, p *project.Project, q project.EventQuery) ([]core.Event, error) {
	return project.Read(ctx, p, func(tx project.Tx) ([]core.Event, error) { return tx.FindEvents(q) })
}

// GoalsOf returns the goals of the frames of events, by the ids of the frames; frames that are
// gone have an empty goal.
func GoalsOf(ctx context.Context, p *project.Project, events []core.Event) (goals map[string]string, err error) {
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
func Revision(ctx context.Context, p *project.Project) (int64, error) {
	return project.Read(ctx, p, func(tx project.Tx) (revision int64, err error) {
		revision, _, err = tx.Revision()
		return revision, err
	})
}

// An Economy says what folding saved in a project, with the totals of its requests.
type Economy struct {
	Totals
	Frames []FoldedFrame `json:"frames"` // the frame that saved most first
}

// A FoldedFrame is a frame that requests leave out.
type FoldedFrame struct {
	ID   string `json:"id"`
	Goal string `json:"goal"`
	fold.Savings
}

// EconomyOf returns what folding saved in the project.
func EconomyOf(ctx context.Context, p *project.Project) (e Economy, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		sessions, err := tx.FindSessions(project.SessionQuery{})
		if err != nil {
			return err
		}
		e.Frames = []FoldedFrame{}
		if e.Totals, err = totalsOf(p, tx, sessions); err != nil {
			return err
		}
		for _, session := range sessions {
			spared, err := usage.SavingsByFrame(tx, session.ID)
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
