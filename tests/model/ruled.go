package model

import "flame/tests/model/rules"

// Enforce has the judge decide on the requests to Anthropic's API from now on, and count those to the
// APIs that cache by themselves. The server records a refused request, but spends no turn on it.
func (s *Server) Enforce(judge *rules.Judge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judge = judge
}

// own are the APIs whose own rules always hold: for items in OpenAI's Responses API, for contents in
// Google's.
var own = map[dialect]struct {
	refuses func(*Server, []byte) error
	read    rules.Read
}{
	responses{}: {func(s *Server, body []byte) error { return s.items.Judge(body) }, rules.Responses},
	gemini{}:    {func(_ *Server, body []byte) error { return refusedByGoogle(body) }, rules.Contents},
}

// decide applies the rules of an API, and has the judge count, if there is one.
func (s *Server) decide(req Request, d dialect, body []byte) rules.Verdict {
	if api, ok := own[d]; ok {
		return s.tally(req, api.read(body), api.refuses(s, body))
	}
	if judge := s.ruledBy(); judge != nil && d == (anthropic{}) {
		return judge.Judge(req.conversation(), body)
	}
	return rules.Verdict{}
}

// tally has the judge count a request that an API's own rules refuse or accept.
func (s *Server) tally(req Request, body rules.Body, refused error) rules.Verdict {
	judge := s.ruledBy()
	if judge == nil {
		return rules.Verdict{Refused: refused}
	}
	body.Model = req.Model
	return judge.Count(req.conversation(), body, refused)
}

func (s *Server) ruledBy() *rules.Judge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.judge
}

// count signs an answer's thinking and puts the judge's counts into its usage, unless the script
// has figures of its own.
func (s *Server) count(req Request, d dialect, v rules.Verdict, scripted Usage, ans *answer) {
	ans.signature = v.Signature
	if d == (responses{}) {
		s.items.Answered(itemsOf(*ans))
	}
	judge := s.ruledBy()
	if judge == nil {
		return
	}
	said := []string{ans.thinking, ans.text}
	for _, c := range ans.calls {
		said = append(said, c.name, string(c.input))
	}
	out := judge.Answered(req.conversation(), said...)
	if v.Cached && scripted == (Usage{}) {
		ans.usage = Usage{Input: v.Uncached, Output: out, CacheRead: v.Read, Cached5m: v.Written}
	}
}
