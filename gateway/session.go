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
	maxRefused   = 2                      // requests in a row that may be refused before a session is folded no more
)

// A session is what a gateway keeps in memory of one that sends requests.
type session struct {
	mu      sync.Mutex
	last    *fold.Amendment // of the newest request that was decided on; nil: none was
	upto    string          // name of the newest message that it knew of
	seen    []conversation.Answer
	refused int // folded requests in a row that were refused
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused >= maxRefused {
		return
	}
	history := request.History(x.g.Wire)
	a, ok := s.decide(ctx, x, request, history)
	if !a.Counted {
		x.sent.uncounted.Count(history, a.Amendment)
	}
	if !ok {
		return
	}
	x.sent.edition = a.Edition
	x.sent.body, x.sent.edited = request.Amended(history, a.Amendment), len(a.Drop)+len(a.Before)+len(a.Cuts)+len(a.Stale) > 0
}

// decide returns what to leave out; ok is false if nobody knows. A store that is not to be
// had in time is no reason to send what was left out before: it may not fit the model's
// window.
func (s *session) decide(ctx context.Context, x *exchange, request *messages.Request, history []fold.Message) (a turns.Amended, ok bool) {
	read, write := x.g.Wire.Prices(request.Model)
	r := turns.Request{
		Untold: true, Undated: true, History: history, Seen: s.seen,
		Terms: fold.Terms{Prices: fold.Prices{Read: read, Write: write}, Leads: request.Thinking == "enabled"},
	}
	soon, cancel := context.WithDeadline(ctx, x.due) // of all that wait for the session, each has its own
	defer cancel()
	a, err := turns.Amend(soon, x.g.Project, x.caller(), r)
	if err == nil {
		s.last, s.upto, s.seen = &a.Amendment, nameOfLast(history), nil
		return a, true
	}
	x.g.Log.Warn("what to leave out of a request could not be decided", "session", x.asked.Session, "error", err)
	if s.last != nil {
		return turns.Amended{Amendment: s.again(history)}, true
	}
	soon, cancel = context.WithDeadline(ctx, x.due.Add(patienceRead))
	defer cancel()
	if a.Amendment, err = turns.Kept(soon, x.g.Project, x.caller(), r); err != nil {
		x.g.Log.Warn("a request goes out as it came", "session", x.asked.Session, "error", err)
		return a, false
	}
	return a, true
}

// again returns the newest amendment for a history that has gone on since. Thinking that
// was asked for otherwise goes, and all if the history did not just go on.
func (s *session) again(history []fold.Message) fold.Amendment {
	a := *s.last
	a.Stale = slices.Clone(a.Stale)
	known := slices.IndexFunc(history, func(m fold.Message) bool { return m.Name == s.upto })
	for _, m := range history[known+1:] {
		fits := known >= 0 && slices.ContainsFunc(s.seen, func(seen conversation.Answer) bool { return seen.Name == m.Name && seen.Edition == a.Edition })
		if m.Role == core.RoleAssistant && !fits {
			a.Stale = append(a.Stale, m.Name)
		}
	}
	return a
}

func nameOfLast(history []fold.Message) string {
	if len(history) == 0 {
		return ""
	}
	return history[len(history)-1].Name
}

// answered notes how a request was answered.
func (s *session) answered(x *exchange, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case x.metered.Status == 400 && x.sent.edited:
		if s.refused++; s.refused == maxRefused {
			x.g.Log.Warn("folded requests were refused again and again: this session is folded no more", "session", x.asked.Session)
		}
	case x.metered.Status == 200 && x.sent.edited:
		s.refused = 0
	}
	if answer := x.answer(name); answer != nil {
		s.seen = append(s.seen, *answer)
	}
}

// answer returns what is noted of an answer; nil if there is nothing to note, or if it is
// a summary, which comes back in a message of the user's.
func (x *exchange) answer(name string) *conversation.Answer {
	if name == "" || x.sent.edition == notNoted || x.asked.Class == hosts.Compaction {
		return nil
	}
	return &conversation.Answer{Name: name, Time: x.metered.Asked, Edition: x.sent.edition}
}
