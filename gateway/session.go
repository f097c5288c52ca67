package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"flame/core"
	"flame/core/fold"
	"flame/gateway/messages"
	"flame/hosts"
	"flame/project/conversation"
	"flame/project/turns"
)

// notNoted is the edition of a request that went as it came: its answer is not noted, and
// so counts as asked for with the whole past.
const notNoted = fold.Unknown

const (
	patience     = 450 * time.Millisecond // that a request waits for what to leave out
	patienceRead = 50 * time.Millisecond  // and for what was left out before, if that cannot be decided
	maxRefused   = 2                      // requests in a row that may be refused before a session's are edited no more
)

// hourLife is how long the API's cache keeps what nobody uses, if a request asks for that.
const hourLife = core.Millis(60 * 60_000)

// A session is what a gateway keeps in memory of one that sends requests.
type session struct {
	mu      sync.Mutex
	kept    *conversation.Conversation // what the newest request was sent by; nil: none was decided on
	seen    []conversation.Answer      // since, oldest first
	refused int                        // edited requests in a row that were refused for it
}

// sessionOf returns the session, or subagent, that asks; nil if a request does not say.
func (g *Gateway) sessionOf(asked hosts.Asked) *session {
	if asked.Session == "" {
		return nil
	}
	id := asked.Session + "/" + asked.Agent
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions[id] == nil {
		g.sessions[id] = &session{}
	}
	return g.sessions[id]
}

// fold leaves out of a request what is to be left out.
func (s *session) fold(ctx context.Context, x *exchange, request *messages.Request) {
	history := request.History(x.g.Wire)
	x.sent.names = request.Names()
	a, ok := s.decide(ctx, x, request, history)
	if !a.Counted {
		x.sent.uncounted.Count(history, a.Amendment)
	}
	if !ok {
		return
	}
	x.sent.edition, x.sent.body = a.Edition, request.Amended(history, a.Amendment)
}

// decide returns what to leave out; ok is false if nobody knows. A store that is not to be
// had in time is no reason to send what was left out before: it may not fit the model's
// window.
func (s *session) decide(ctx context.Context, x *exchange, request *messages.Request, history []fold.Message) (a turns.Amended, ok bool) {
	r := turns.Request{Untold: true, Undated: true, History: history}
	hour := request.KeepsHour()
	if hour {
		r.CacheLife = hourLife
	}
	read, write := x.g.Wire.Prices(request.Model, hour)
	r.Terms = fold.Terms{Prices: fold.Prices{Read: read, Write: write}, Leads: request.Thinking == "enabled"}
	s.mu.Lock()
	kept := s.kept
	r.Seen = slices.Clone(s.seen)
	s.mu.Unlock()
	soon, cancel := context.WithDeadline(ctx, x.due)
	defer cancel()
	a, err := turns.Amend(soon, x.g.Project, x.caller(), r)
	if err == nil {
		s.keep(a.Kept, r.Seen)
		return a, true
	}
	x.g.Log.Warn("what to leave out of a request could not be decided", "session", x.asked.Session, "error", err)
	if kept != nil {
		a = turns.Again(x.g.Project, *kept, r)
		s.keep(a.Kept, nil)
		return a, true
	}
	soon, cancel = context.WithDeadline(ctx, x.due.Add(patienceRead))
	defer cancel()
	if a, err = turns.Recall(soon, x.g.Project, x.caller(), r); err != nil {
		x.g.Log.Warn("a request goes out as it came", "session", x.asked.Session, "error", err)
		return a, false
	}
	s.keep(a.Kept, nil)
	return a, true
}

// keep keeps what a request was sent by, and forgets answers that are stored.
func (s *session) keep(kept conversation.Conversation, stored []conversation.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = &kept
	s.seen = slices.DeleteFunc(s.seen, func(a conversation.Answer) bool { return slices.Contains(stored, a) })
}

// stopped reports whether requests of a class are edited no more. Those for a summary still
// are: without that they may not fit the window.
func (s *session) stopped(class hosts.Class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused >= maxRefused && class != hosts.Compaction
}

// answered notes how a request was answered.
func (s *session) answered(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case x.refused() && x.sent.edited:
		if s.refused++; s.refused == maxRefused {
			x.g.Log.Warn("edited requests were refused again and again: this session's are edited no more", "session", x.asked.Session)
		}
	case x.metered.Status == 200 && x.sent.edited:
		s.refused = 0
	}
	if answer := x.answer(); answer != nil {
		s.seen = append(s.seen, *answer)
	}
}

// answer returns what is noted of an answer; nil if there is nothing to note, or if it is
// a summary, which comes back in a message of the user's.
func (x *exchange) answer() *conversation.Answer {
	if x.name == "" || x.sent.edition == notNoted || x.asked.Class == hosts.Compaction {
		return nil
	}
	return &conversation.Answer{Name: x.name, Time: x.metered.Asked, Edition: x.sent.edition}
}
