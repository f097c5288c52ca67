package turns

import (
	"context"

	"flame/core"
	"flame/project"
	"flame/project/conversation"
	"flame/project/usage"
)

// A Report is what a gateway saw of requests of a session to its model, and of the answers.
type Report struct {
	Requests []usage.Request
	Seen     []conversation.Answer
}

// Answered stores a report, each answer of it once. It returns core.ErrNotFound for a
// session that nobody has told of yet.
func Answered(ctx context.Context, p *project.Project, by project.Caller, r Report) error {
	return p.Consider(ctx, by, func(s *project.Step) (func(*project.Step) error, error) {
		if s.Fresh {
			return nil, core.NotFoundf("session %s is not known yet", by.Session)
		}
		return r.store, nil
	})
}

// AnsweredLate stores a report of a session that nobody has told of, as that of its parent
// if it has one.
func AnsweredLate(ctx context.Context, p *project.Project, by project.Caller, r Report) error {
	if by.Parent != "" {
		by.Session, by.Parent, r.Seen = by.Parent, "", nil
	}
	return p.Update(ctx, by, r.store)
}

func (r Report) store(s *project.Step) error {
	return conversation.NoteSeen(s.Tx, s.Session.ID, r.Seen)
}
