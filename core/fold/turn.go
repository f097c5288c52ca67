package fold

import (
	"slices"
	"strings"

	"flame/core"
)

// The least that the work of a turn of the user's, or of an item of the host's list, must be to be left out:
// rounds of tools before its last answer, or tokens.
const (
	leastRounds = 8
	leastTurn   = 4_000
)

// isTurn reports whether a stay was in the frame of a turn of the user's.
func (f *folding) isTurn(s *stay) bool { return f.frames[s.frame] != nil && f.frames[s.frame].Turn }

// isItem reports whether a stay was in the frame of an item of the host's list, and no call of flame ended it.
func (f *folding) isItem(s *stay) bool {
	return f.frames[s.frame] != nil && f.frames[s.frame].Item && (s.silent || s.left < 0)
}

// unasked reports whether a stay was in the frame of a turn or an item: what stays of it says itself how it
// ended.
func (f *folding) unasked(s *stay) bool { return f.isTurn(s) || f.isItem(s) }

// waits reports whether the work of a stay is that of a turn or an item and stays for now, because it is small
// or not one behind: no further prompt has come behind the one that followed it, and for an item, the next one
// with work has not ended.
func (f *folding) waits(s *stay) bool {
	if !f.unasked(s) {
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
	next := func(other *stay) bool {
		return f.isItem(other) && f.frames[other.frame].over() && other.left >= 0 && other.from >= s.to && other.from < f.answer(other)
	}
	behind := prompts >= 2 || f.isItem(s) && slices.ContainsFunc(f.stays, next)
	return !behind || !IsWorthTurn(rounds, tokens)
}

// IsWorthTurn reports whether the work of a turn or an item is large enough to be left out: answers of the
// model, and tokens.
func IsWorthTurn(answers, tokens int) bool { return answers > leastRounds || tokens >= leastTurn }

// answer returns the message of a turn or an item that stays: the last answer of a turn, -1 if the turn was
// broken off before one; of an item the last answer, which called for its end. It is -1 for other stays.
func (f *folding) answer(s *stay) int {
	for i := s.to - 1; i >= s.from && f.unasked(s); i-- {
		m := &f.history[i]
		if f.isTurn(s) && f.heads[i] != i {
			return -1 // results of tools that nothing answered
		}
		if m.Role == core.RoleAssistant && (f.isItem(s) || strings.TrimSpace(m.Text) != "") {
			return i
		}
	}
	return -1
}
