package turns

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/usage"
)

// A Request is a request that a host is about to send to a session's model.
type Request struct {
	Untold   bool                // flame inserts nothing new: it asks for a summary, or its host briefs the agent otherwise
	History  []fold.Message      // oldest first
	Usage    []usage.AnswerUsage // of answers since the last request
	Editions map[core.Millis]int // of the requests that these answers belong to, by the times of the answers
	Terms    fold.Conditions     // but for Cold, which EditRequest knows

	CacheLife core.Millis // how long the model's cache keeps an unused entry; 0: the usual time

	Undated bool               // the messages have no times; names of the same history are the same
	Seen    []usage.SeenAnswer // of such a history, since the last request; known answers change nothing
}

// prompt returns the name of the newest message of the user, or of a message that stands in
// for one; empty without one.
func (r Request) prompt() string {
	return r.last(func(m fold.Message) bool { return m.Role == core.RoleUser && !m.IsToolResult })
}

// summary returns the name of the newest compaction's summary; empty without one.
func (r Request) summary() string {
	return r.last(func(m fold.Message) bool { return m.Summary })
}

func (r Request) last(is func(fold.Message) bool) string {
	for _, m := range slices.Backward(r.History) {
		if is(m) {
			return m.Name
		}
	}
	return ""
}

// usualLife is how long a model's cache keeps an unused entry: the time of Anthropic's cache,
// unless the user pays for more.
const usualLife = core.Millis(5 * 60_000)

// terms returns the terms of the request at a time.
func (r Request) terms(now core.Millis) fold.Conditions {
	terms := r.Terms
	for _, m := range slices.Backward(r.History) {
		if m.Role == core.RoleAssistant {
			terms.Cold = m.Time > 0 && now-m.Time > cmp.Or(r.CacheLife, usualLife)
			break
		}
	}
	return terms
}

// RequestEdits say how to send a request.
type RequestEdits struct {
	fold.Edits
	Counted bool // among the requests of its session; if false, there was nothing else to write
	// Kept is the conversation from which flame made the amendment. It serves for later
	// requests while the store is out of reach.
	Kept usage.RequestLog
}

// EditRequest returns what to leave out of a request to the model and what to insert: it folds
// finished frames, and inserts a briefing behind the newest prompt. The result for the same
// history and tree is identical, to the byte, because flame decides on each once.
func EditRequest(ctx context.Context, p *project.Project, by project.Caller, r Request) (a RequestEdits, err error) {
	err = p.Run(ctx, by, func(s *project.Op) error {
		if settled, err := settle(s, r, &a); settled || err != nil {
			return err
		}
		return s.Change(func(s *project.Op) error {
			if err := errors.Join(usage.Add(s, r.Usage), children.MakeFrameIfWorth(s)); err != nil {
				return err
			}
			c, err := loaded(s, r)
			if err == nil {
				err = amend(s, &c, r)
			}
			if err != nil {
				return err
			}
			said, err := briefing.Dialogs(s, r.History)
			if err = errors.Join(err, briefing.NoteWords(s, said...)); err != nil {
				return err
			}
			if undecided(s, c, r) {
				if err := decide(s, &c, r); err != nil {
					return err
				}
			}
			a = RequestEdits{Edits: c.Edits(r.History), Counted: !s.NewSession && len(r.History) > 0, Kept: c}
			if a.Counted {
				if err := c.Count(s, r.History, a.Edits); err != nil {
					return err
				}
			}
			return c.Save(s.Tx, s.Session.ID)
		})
	})
	return a, err
}

// settle reports whether there is nothing to write for a request, and then sets a.
func settle(s *project.Op, r Request, a *RequestEdits) (settled bool, err error) {
	if len(r.Usage) > 0 {
		return false, nil
	}
	c, err := loaded(s, r)
	if err != nil || undecided(s, c, r) { // its change does the rest
		return false, err
	}
	if err := amend(s, &c, r); err != nil {
		return false, err
	}
	said, err := briefing.Dialogs(s, r.History)
	*a = RequestEdits{Edits: c.Edits(r.History), Kept: c}
	return s.NewSession || !c.Changed() && len(said) == 0, err
}

// ReplayEdits returns how to send a request by the decisions for earlier requests. It writes
// nothing: callers use it when flame cannot write.
func ReplayEdits(ctx context.Context, p *project.Project, by project.Caller, r Request) (a RequestEdits, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		if s.NewSession {
			return nil
		}
		c, err := usage.RequestsFor(s, r.History)
		if err == nil {
			a = r.again(c, s.Now)
		}
		return err
	})
	return a, err
}

// ReplayFrom is Recall from the Kept of an earlier request.
func ReplayFrom(p *project.Project, kept usage.RequestLog, r Request) RequestEdits {
	return r.again(kept.Clone(), p.Now())
}

func (r Request) again(c usage.RequestLog, now core.Millis) RequestEdits {
	r.show(&c, now)
	return RequestEdits{Edits: c.Edits(r.History), Kept: c}
}

// show adds the answers and times that the request shows to a conversation.
func (r Request) show(c *usage.RequestLog, now core.Millis) {
	if r.Undated {
		c.NoteUndatedAnswers(r.Seen)
		c.SetTimes(r.History, now)
	}
	c.NoteEditions(r.History, r.Editions)
}

// loaded returns the session's conversation.
func loaded(s *project.Op, r Request) (c usage.RequestLog, err error) {
	if s.NewSession || len(r.History) == 0 {
		return c, nil
	}
	return usage.RequestsFor(s, r.History)
}

// amend adds what a request shows to a conversation, and folds finished frames.
func amend(s *project.Op, c *usage.RequestLog, r Request) error {
	if s.NewSession || len(r.History) == 0 {
		return nil
	}
	r.show(c, s.Now)
	c.MoveMissedInserts(r.History)
	folds := s.Project.Fold && c.Refused(r.History) == 0 // after a refusal nothing is left out
	c.SetFolding(folds)
	if !folds {
		return nil
	}
	frames, err := foldFrames(s, r.History)
	if err != nil {
		return err
	}
	terms := r.terms(s.Now)
	if len(frames) > 0 {
		c.Fold(fold.FindFolds(r.History, frames, c.Ledger, terms))
	}
	c.Cut(fold.FindCuts(r.History, c.Ledger, s.Project.Trim, terms))
	return nil
}

// undecided reports whether the request has a new prompt, or follows a compaction, on which
// flame has not decided yet.
func undecided(s *project.Op, c usage.RequestLog, r Request) bool {
	return !s.NewSession && !s.Project.Replaying && !r.Untold && r.prompt() != "" && (c.Prompt != r.prompt() || c.Summary != r.summary())
}

// decide inserts a briefing behind the newest prompt: the context if the conversation begins,
// resumes or lost its past, else the changes.
func decide(s *project.Op, c *usage.RequestLog, r Request) error {
	again := c.Summary != r.summary()
	begins := c.Prompt == ""
	c.NotePromptDecided(r.History, r.prompt(), r.summary())
	if given, err := briefing.TakeGivenContext(s); given || err != nil {
		return err
	}
	mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
	if err != nil {
		return err
	}
	b, err := briefing.WithNotices(s, 0, func(int) (briefing.Briefing, error) {
		if again || begins {
			return briefing.StartContext(s, again)
		}
		return briefing.Changes(s, "", 0, mine.LastSeq)
	})
	if err != nil {
		return err
	}
	if b.Text != "" {
		c.Insert(r.History, b.Text)
	}
	return briefing.NoteDelivered(s, b)
}

// A Report has the requests of a session to its model, and the answers, that a gateway saw.
type Report struct {
	Requests []usage.MeteredRequest
	Seen     []usage.SeenAnswer
	Sent     fold.Meter // of requests that EditRequest did not count
}

// StoreReport stores a report, each answer once. It returns core.ErrNotFound for a session that
// flame does not know yet. It neither wakes nor resumes the session: a request that a gateway
// saw is no activity of the session now.
func StoreReport(ctx context.Context, p *project.Project, by project.Caller, r Report) error {
	return r.storeFor(ctx, p, by, func(s *project.Op) error {
		if s.NewSession {
			return core.NotFoundf("session %s is not known yet", by.Session)
		}
		return nil
	})
}

// StoreLateReport stores a report of a session that flame does not know, as its parent's report
// if it has a parent.
func StoreLateReport(ctx context.Context, p *project.Project, by project.Caller, r Report) error {
	if by.Parent != "" {
		by.Session, by.Parent, r.Seen, r.Sent = by.Parent, "", nil, fold.Meter{}
	}
	return r.storeFor(ctx, p, by, func(*project.Op) error { return nil })
}

// storeFor stores a report of the caller's session, unless check returns an error.
func (r Report) storeFor(ctx context.Context, p *project.Project, by project.Caller, check func(*project.Op) error) error {
	return p.Run(ctx, by, func(s *project.Op) error {
		if err := check(s); err != nil {
			return err
		}
		return errors.Join(
			usage.NoteGatewayAnswers(s.Tx, s.Session.ID, r.Seen, r.Sent), usage.CountRequests(s, r.Requests), r.noteModel(s),
		)
	})
}

// noteModel records which model the session asks, for its suggestions.
func (r Report) noteModel(s *project.Op) error {
	for _, asked := range r.Requests {
		if asked.Context == 0 && asked.Window == 0 {
			continue // it is not part of the conversation, or has no answer
		}
		if err := autonomy.NoteModel(s, asked.Model, asked.Window); err != nil {
			return err
		}
	}
	return nil
}
