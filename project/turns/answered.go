package turns

import (
	"context"
	"errors"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/conversation"
	"flame/project/usage"
)

// A Report is what a gateway saw of requests of a session to its model, and of the answers.
type Report struct {
	Requests []usage.Request
	Seen     []conversation.Answer
	Sent     fold.Meter // of requests that Amend did not count
}

// Answered stores a report, each answer of it once. It returns core.ErrNotFound for a
// session that nobody has told of yet. What a gateway saw is nothing that the session did
// now: it neither wakes nor resumes one.
func Answered(ctx context.Context, p *project.Project, by project.Caller, r Report) error {
	return r.storeFor(ctx, p, by, func(s *project.Step) error {
		if s.Fresh {
			return core.NotFoundf("session %s is not known yet", by.Session)
		}
		return nil
	})
}

// AnsweredLate stores a report of a session that nobody has told of, as that of its parent
// if it has one.
func AnsweredLate(ctx context.Context, p *project.Project, by project.Caller, r Report) error {
	if by.Parent != "" {
		by.Session, by.Parent, r.Seen, r.Sent = by.Parent, "", nil, fold.Meter{}
	}
	return r.storeFor(ctx, p, by, func(*project.Step) error { return nil })
}

// storeFor stores a report of the caller's session, unless check has something against it.
func (r Report) storeFor(ctx context.Context, p *project.Project, by project.Caller, check func(*project.Step) error) error {
	return p.Store.Run(ctx, func(tx project.Tx) error {
		s := p.Step(tx, by)
		if err := s.Enter(); err != nil {
			return err
		}
		if err := check(s); err != nil {
			return err
		}
		return errors.Join(
			conversation.NoteSeen(s.Tx, s.Session.ID, r.Seen, r.Sent), usage.Meter(s, r.Requests), r.noteModel(s),
		)
	})
}

// noteModel has the session's suggestions go by the model that it asks.
func (r Report) noteModel(s *project.Step) error {
	for _, asked := range r.Requests {
		if asked.Context == 0 && asked.Window == 0 {
			continue // it is beside the conversation, or was not answered
		}
		if err := autonomy.NoteModel(s, asked.Model, asked.Window); err != nil {
			return err
		}
	}
	return nil
}
