package fold

import "unicode/utf8"

// A Meter counts the requests of a conversation. Their tokens are those of the messages,
// estimated; instructions, tools and thinking are not among them.
type Meter struct {
	Requests int   `json:"count"`
	Sent     int64 `json:"sent"`    // tokens of all of them
	LeftOut  int64 `json:"leftOut"` // tokens that they went without
}

// Add returns the sum of m and n.
func (m Meter) Add(n Meter) Meter {
	return Meter{m.Requests + n.Requests, m.Sent + n.Sent, m.LeftOut + n.LeftOut}
}

// Less returns how many times less was sent than without folding; 0 if nothing was left
// out.
func (m Meter) Less() float64 {
	if m.LeftOut <= 0 {
		return 0
	}
	return float64(m.Sent+m.LeftOut) / float64(max(1, m.Sent))
}

// Count adds the request that an amendment makes out of a history.
func (m *Meter) Count(history []Message, a Amendment) {
	m.Requests++
	gone := make(map[string]bool, len(a.Drop))
	for _, name := range a.Drop {
		gone[name] = true
	}
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
	for i := range a.Cuts {
		m.leaveOut(a.Cuts[i].saved())
	}
}

// leaveOut moves tokens of a request from those sent to those left out.
func (m *Meter) leaveOut(tokens int64) {
	m.LeftOut += tokens
	m.Sent -= tokens
}

// saved returns how many tokens less a request has by a cut.
func (c *Cut) saved() int64 { return int64(c.Tokens) - sizeOf(c.Text) }

// sizeOf estimates the tokens of a text, as is done for messages.
func sizeOf(text string) int64 { return int64(utf8.RuneCountInString(text)+3) / 4 }

// TakeBack corrects the meter, and what its ledger tracks: the newest request did not
// go as the ledger had it, but as of an edition before that. If that is Unknown, it
// counts as sent whole. It reports whether anything of the ledger changed.
func (m *Meter) TakeBack(l *Ledger, edition int) (changed bool) {
	folded := map[string]bool{}
	for i := range l.Folds {
		f := &l.Folds[i]
		for _, name := range f.Drop {
			folded[name] = folded[name] || f.Since > 0
		}
		if f.Since > 0 && f.Edition > edition {
			f.Since++
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

// Track notes which folds begin or cease to leave something out with the request that
// is the next to be counted; none does if it is sent whole. It reports whether anything
// changed.
func (m *Meter) Track(l *Ledger, history []Message, whole bool) (changed bool) {
	at := places(history)
	for i := range l.Folds {
		f := &l.Folds[i]
		works := !whole && f.holds(at) && f.leavesOut(at)
		switch {
		case works && f.Since == 0:
			f.Since, changed = m.Requests+1, true
		case !works && f.Since > 0:
			f.Requests, f.Since, changed = f.requests(*m), 0, true
		}
	}
	return changed
}

// leavesOut reports whether the history has what a fold leaves out: all of it, as what is
// compacted away goes first.
func (f *Fold) leavesOut(at map[string]int) bool {
	if len(f.Drop) == 0 {
		return false
	}
	_, stands := at[f.Drop[0]]
	return stands
}

// requests returns how many of the requests counted went without what a fold leaves out.
func (f *Fold) requests(m Meter) int {
	if f.Since == 0 {
		return f.Requests
	}
	return f.Requests + max(0, m.Requests-f.Since+1)
}

// Spared is what the requests of a conversation went without because a frame was folded.
type Spared struct {
	Messages int   `json:"messages"`
	Tokens   int   `json:"tokens"`   // of these, estimated
	Requests int   `json:"requests"` // that went without them, or without some if it was folded bit by bit
	LeftOut  int64 `json:"leftOut"`  // tokens, of all these requests
}

// Spared returns what a fold has spared the requests of a meter.
func (f *Fold) Spared(m Meter) Spared {
	n := f.requests(m)
	return Spared{len(f.Drop), f.Tokens, n, int64(f.Tokens) * int64(n)}
}

// With returns what s and another fold of the same frame have spared.
func (s Spared) With(other Spared) Spared {
	return Spared{s.Messages + other.Messages, s.Tokens + other.Tokens, max(s.Requests, other.Requests), s.LeftOut + other.LeftOut}
}

// Reset forgets which requests went without what the folds leave out: a branch of a
// conversation has sent none.
func (l *Ledger) Reset() {
	for i := range l.Folds {
		l.Folds[i].Since, l.Folds[i].Requests = 0, 0
	}
}
