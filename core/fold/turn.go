package fold

import (
	"strings"

	"flame/core"
)

// The least that the work of a turn of the user's must be to be left out: rounds of tools before its
// answer, or tokens.
const (
	leastRounds = 8
	leastTurn   = 4_000
)

// isTurn reports whether a stay was in the frame of a turn of the user's.
func (f *folding) isTurn(s *stay) bool { return f.frames[s.frame] != nil && f.frames[s.frame].Turn }

// waits reports whether the work of a stay is that of a turn and stays for now, because it is small, or
// because no further prompt has come behind the one that followed it.
func (f *folding) waits(s *stay) bool {
	if !f.isTurn(s) {
		return false
	}
	prompts, rounds, tokens := 0, 0, 0
	for i := s.left + 1; i < len(f.history) && prompts < 2; i++ {
		if m := &f.history[i]; f.speaks(i) && m.Role == core.RoleUser && !m.FromHost && !m.Summary {
			prompts++
		}
	}
	for i := s.from; i < s.to; i++ {
		m := &f.history[i]
		if m.Role == core.RoleAssistant {
			rounds++
		}
		if m.Role != core.RoleUser || m.IsToolResult {
			tokens += m.tokens()
		}
	}
	return prompts < 2 || !IsWorthTurn(rounds, tokens)
}

// IsWorthTurn reports whether the work of a turn is large enough to be left out: answers of the model, and
// tokens.
func IsWorthTurn(answers, tokens int) bool { return answers > leastRounds || tokens >= leastTurn }

// answer returns the last answer of a turn, which stays; -1 if the turn was broken off before one, and for
// other stays.
func (f *folding) answer(s *stay) int {
	for i := s.to - 1; i >= s.from && f.isTurn(s); i-- {
		if f.heads[i] != i {
			return -1 // results of tools that nothing answered
		}
		if m := &f.history[i]; m.Role == core.RoleAssistant && strings.TrimSpace(m.Text) != "" {
			return i
		}
	}
	return -1
}
