package children

import (
	"context"
	"errors"

	"flame/core"
	"flame/project"
)

// A Task is a child of a session as that session's conversation shows it.
type Task struct {
	Session, Title string
	Ended          *Ended // nil while it works
}

// CatchUp records what was not reported of the caller's children: that they started, and
// how they ended. Of children that were forgotten long after their end it records nothing.
func CatchUp(ctx context.Context, p *project.Project, by project.Caller, tasks []Task) error {
	var errs []error
	for _, t := range tasks {
		known, over, err := Known(ctx, p, t.Session)
		if err == nil && !known {
			child := project.Caller{Session: t.Session, Parent: by.Session, Host: by.Host, Agent: by.Agent, Trust: by.Trust, Event: by.Event, Plugin: by.Plugin}
			_, err = StartSession(ctx, p, child, t.Title)
		}
		if err == nil && !over && t.Ended != nil {
			err = End(ctx, p, by, *t.Ended)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Known reports whether a session was reported, and for a child whether its end was.
func Known(ctx context.Context, p *project.Project, id string) (known, over bool, err error) {
	err = p.Store.View(ctx, func(tx project.Tx) error {
		session, err := tx.Session(id)
		if !errors.Is(err, core.ErrNotFound) {
			known, over = err == nil, session.IsCompleted
			return err
		}
		events, err := tx.FindEvents(project.EventQuery{Session: id, Limit: 1})
		known, over = len(events) > 0, len(events) > 0
		return err
	})
	return known, over, err
}

// Over returns those sessions of children that have ended, as far as is known.
func Over(ctx context.Context, p *project.Project, ids []string) (over map[string]bool, err error) {
	over = map[string]bool{}
	err = p.Store.View(ctx, func(tx project.Tx) error {
		for _, id := range ids {
			session, err := tx.Session(id)
			if err = project.IgnoreMissing(err); err != nil {
				return err
			}
			over[id] = session.IsCompleted
		}
		return nil
	})
	return over, err
}
