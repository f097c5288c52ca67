package fold

import (
	"unicode/utf8"

	"github.com/samber/lo"
)

// A Meter counts the requests of a conversation and estimates the tokens of their messages,
// without instructions, tools and thinking.
type Meter struct {
	Requests int   `json:"count"`
	Sent     int64 `json:"sent"`    // tokens sent in all requests
	LeftOut  int64 `json:"leftOut"` // tokens left out of all requests
}

// Add returns the sum of m and n.
func (m Meter) Add(n Meter) Meter {
	return Meter{m.Requests + n.Requests, m.Sent + n.Sent, m.LeftOut + n.LeftOut}
}

// ShrinkFactor returns how many times smaller the messages of the requests were than without folding; 0 if
// nothing was left out.
func (m Meter) ShrinkFactor() float64 {
	if m.LeftOut <= 0 {
		return 0
	}
	return float64(m.Sent+m.LeftOut) / float64(max(1, m.Sent))
}

// Count counts the request that an amendment makes out of a history.
func (m *Meter) Count(history []Message, a Edits) {
	m.Requests++
	gone := lo.SliceToMap(a.Drop, func(name string) (string, bool) { return name, true })
	for i := range history {
		if gone[history[i].Name] {
			m.LeftOut += int64(history[i].tokens())
		} else {
			m.Sent += int64(history[i].tokens())
		}
	}
	for _, note := range a.Before {
		m.Sent += sizeOf(note.Text)
	}
	for _, insert := range a.After {
		m.Sent += sizeOf(insert.Text)
	}
	for _, cut := range a.Cuts {
		m.leaveOut(cut.saved())
	}
}

// leaveOut moves tokens of a request from Sent to LeftOut.
func (m *Meter) leaveOut(tokens int64) {
	m.LeftOut += tokens
	m.Sent -= tokens
}

// saved returns how many tokens a cut saves in a request.
func (c *Cut) saved() int64 { return int64(c.Tokens) - sizeOf(c.Text) }

// sizeOf estimates the tokens of a text in the same way as those of messages.
func sizeOf(text string) int64 { return int64(utf8.RuneCountInString(text)+3) / 4 }

// Uncount corrects the meter and its ledger if the newest request was sent under an earlier
// edition than the ledger's. With Unknown, the request counts as sent whole. Uncount reports
// whether the ledger changed.
func (m *Meter) Uncount(l *Ledger, edition int) (changed bool) {
	folded := map[string]bool{}
	for i := range l.Folds {
		f := &l.Folds[i]
		for _, name := range f.Drop {
			folded[name] = folded[name] || f.FirstRequest > 0
		}
		if f.FirstRequest > 0 && f.Edition > edition {
			f.FirstRequest++
			m.leaveOut(-int64(f.Tokens))
			changed = true
		}
	}
	for i := range l.Cuts {
		if c := &l.Cuts[i]; c.Edition > edition && !folded[c.Message] {
			m.leaveOut(-c.saved())
		}
	}
	return changed
}

// Track records which folds start or stop leaving messages out with the next request to be
// counted. If that is sent whole, all stop. Track reports whether anything changed.
func (m *Meter) Track(l *Ledger, history []Message, whole bool) (changed bool) {
	at := placesOf(history)
	for i := range l.Folds {
		f := &l.Folds[i]
		works := !whole && f.holds(at) && f.leavesOut(at)
		switch {
		case works && f.FirstRequest == 0:
			f.FirstRequest, changed = m.Requests+1, true
		case !works && f.FirstRequest > 0:
			f.Requests, f.FirstRequest, changed = f.requests(*m), 0, true
		}
	}
	return changed
}

// leavesOut reports whether the history has all messages that a fold leaves out. Checking the
// first is enough: a compaction removes the oldest first.
func (f *Fold) leavesOut(at places) bool { return len(f.Drop) > 0 && at.has(f.Drop[0]) }

// requests returns how many counted requests were sent without the messages of a fold.
func (f *Fold) requests(m Meter) int {
	if f.FirstRequest == 0 {
		return f.Requests
	}
	return f.Requests + max(0, m.Requests-f.FirstRequest+1)
}

// Savings is how much folding a frame saved in the requests of a conversation.
type Savings struct {
	Messages int   `json:"messages"`
	Tokens   int   `json:"tokens"`   // of these, estimated
	Requests int   `json:"requests"` // sent without these messages, or without some if the frame was folded in steps
	LeftOut  int64 `json:"leftOut"`  // tokens, of all these requests
}

// Savings returns how much a fold saved in the requests of a meter.
func (f *Fold) Savings(m Meter) Savings {
	n := f.requests(m)
	return Savings{len(f.Drop), f.Tokens, n, int64(f.Tokens) * int64(n)}
}

// With returns the sum of s and another fold of the same frame.
func (s Savings) With(other Savings) Savings {
	return Savings{s.Messages + other.Messages, s.Tokens + other.Tokens, max(s.Requests, other.Requests), s.LeftOut + other.LeftOut}
}

// Reset forgets which requests were sent without the messages of the folds: a new branch of a
// conversation has sent none.
func (l *Ledger) Reset() {
	for i := range l.Folds {
		l.Folds[i].FirstRequest, l.Folds[i].Requests = 0, 0
	}
}
