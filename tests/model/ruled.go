package model

import "flame/tests/model/rules"

// Enforce has the judge decide on the requests to Anthropic's API from now on. The server records
// a refused request, but spends no turn on it.
func (s *Server) Enforce(judge *rules.Judge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judge = judge
}

// decide asks the judge, if there is one for this API. The rules of OpenAI for items, and those of Google,
// always hold.
func (s *Server) decide(req Request, d dialect, body []byte) rules.Verdict {
	if d == (responses{}) {
		return rules.Verdict{Refused: s.items.Judge(body)}
	}
	if judge := s.ruledBy(); judge != nil && d == (anthropic{}) {
		return judge.Judge(req.conversation(), body)
	}
	if d == (gemini{}) {
		return rules.Verdict{Refused: refusedByGoogle(body)}
	}
	return rules.Verdict{}
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
