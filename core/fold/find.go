package fold

import (
	"slices"
	"strings"
	"unicode/utf8"

	"flame/core"
)

// Find returns what of a history is to be left out next: what was done inside frames
// that are over, as far as the ledger does not leave it out yet. Those are the messages
// between the one that entered a frame and the one that left it, with the results of
// their tools, and the one that entered, if its first call is the only move in it.
//
//   - The user's words, summaries, messages with a tool still at work, everything
//     done in an open frame, and the last round stay.
//   - Nested frames fold with the outermost; inside an open one each folds alone.
//   - The message that left a frame stays and says how it ended. Where there is none, a
//     note is put in its place.
//   - A frame that no call entered, or whose call was compacted away, begins with
//     the first message after EnteredAt, but not before the end of what the
//     compaction kept. One that no call left ends before the first message made
//     after EndedAt, unless its end was taken back: the ledger knows of a call, and
//     the history does not have it.
//   - What costs more than it saves waits (see Prices).
//
// The editions of the result are not set.
func Find(history []Message, frames []Frame, known Ledger, terms Terms) []Fold {
	f := newFolding(history, frames, known, terms)
	f.sweep()
	f.claim()
	return f.result()
}

// claim assigns each message to the fold that contains it: inner stays come
// after outer ones, and messages of an open frame belong to none.
func (f *folding) claim() {
	for _, s := range f.stays {
		switch {
		case !f.frames[s.frame].over():
			end := len(f.history)
			if s.left >= 0 {
				end = s.left
			}
			f.give(s.from, end, nil)
		case f.closed(s) && s.from < s.to && f.owners[s.from] == nil:
			f.give(s.from, s.to, s)
		}
	}
	f.settle()
	for i := range f.history {
		if f.dropped(i) {
			f.owners[f.heads[i]].folds = true
		}
	}
}

// closed reports whether a stay has ended, and may fold.
func (f *folding) closed(s *stay) bool {
	return s.left >= 0 && (s.left < f.last || s.left == f.last && !s.silent && !f.terms.Leads)
}

func (f *folding) give(from, to int, owner *stay) {
	for i := from; i < to; i++ {
		f.owners[i] = owner
	}
}

// dropped reports whether a message is left out.
func (f *folding) dropped(i int) bool { return f.drops[i] }

// settle decides which messages of frames that fold are left out. The last round is never.
func (f *folding) settle() {
	fixed, kept := f.fixed(), -1 // kept is the newest head that stays
	for i := range f.history {
		if head := f.heads[i]; head < i {
			f.drops[i] = f.drops[head]
			continue
		}
		f.drops[i] = f.mayGo(i) && !f.parts(i, kept, fixed[i])
		if !f.drops[i] {
			kept = i
		}
	}
}

// mayGo reports whether a head is in a frame that folds, and nothing else keeps it.
func (f *folding) mayGo(head int) bool {
	return f.owners[head] != nil && !f.bound[head] && head != f.last
}

// fixed returns, for each message, the next head behind it that may not go; -1 if there is
// none.
func (f *folding) fixed() []int {
	next, stays := make([]int, len(f.history)), -1
	for i := len(f.history) - 1; i >= 0; i-- {
		next[i] = stays
		if f.heads[i] == i && !f.mayGo(i) {
			stays = i
		}
	}
	return next
}

// parts reports whether a head has to stay because of the one that stays before it: what
// the host says for the user right after an answer, or that and the next one to stay would
// meet; and an answer after a message of role system, which has to have one behind it,
// unless the next to stay is another answer.
func (f *folding) parts(head, before, next int) bool {
	if before < 0 {
		return false
	}
	switch role := f.history[before].Role; f.history[head].Role {
	case core.RoleUser:
		return role == core.RoleAssistant && before == f.heads[head-1]
	case core.RoleAssistant:
		return role == core.RoleOther && (next < 0 || f.history[next].Role != core.RoleAssistant)
	}
	return false
}

// result collects the outcome, as far as it pays.
func (f *folding) result() (found []Fold) {
	by := map[*stay]*Fold{}
	var order []*stay
	for i, m := range f.history {
		if !f.isNew(i) {
			continue
		}
		s := f.owners[f.heads[i]]
		if by[s] == nil {
			by[s], order = f.begin(s), append(order, s)
		}
		by[s].Drop = append(by[s].Drop, m.Name)
		by[s].Tokens += m.tokens()
	}
	for _, s := range order {
		f.note(s, by[s])
		found = append(found, *by[s])
	}
	return f.pays(found)
}

// isNew reports whether a message is to be left out that the ledger does not leave out.
func (f *folding) isNew(i int) bool { return f.dropped(i) && f.gone[i] == nil }

// begin makes the fold of a stay, with nothing left out yet.
func (f *folding) begin(s *stay) *Fold {
	fold := &Fold{Frame: s.frame, EndedAt: f.frames[s.frame].EndedAt, Upto: f.history[s.left].Name}
	if s.silent {
		fold.Upto = f.history[f.next(s.left+1)].Name
	}
	return fold
}

// next returns the first message from i on that stays.
func (f *folding) next(i int) int {
	if f.follow == nil {
		f.follow = make([]int, len(f.history))
		stays := len(f.history)
		for k := len(f.history) - 1; k >= 0; k-- {
			if !f.dropped(k) {
				stays = k
			}
			f.follow[k] = stays
		}
	}
	return f.follow[i]
}

// note adds to a fold what is told of the frame: before the user's messages in it, and
// after it if no call ended it.
func (f *folding) note(s *stay, fold *Fold) {
	for i := s.from; i < s.to; i++ {
		m := &f.history[i]
		if f.owners[i] == s && f.isNew(i) && m.Said != "" {
			text := core.SaidInRemark(f.frames[s.frame].Frame, f.answered(s, i)) + m.Said
			fold.Notes = append(fold.Notes, Note{Before: f.history[f.next(i)].Name, Text: text, Words: true})
		}
		if f.owners[i] == s && !f.dropped(i) && !f.noted[m.Name] && f.speaks(i) && m.Role == core.RoleUser && !m.Host && !m.Summary {
			fold.Notes = append(fold.Notes, Note{Before: m.Name, Text: core.SaidInRemark(f.frames[s.frame].Frame, f.answered(s, i))})
		}
	}
	if s.silent {
		fold.Notes = append(fold.Notes, Note{Before: fold.Upto, Text: core.EndedRemark(f.frames[s.frame].Frame, f.within(s))})
	}
}

// within returns the ids of the frames that ended inside a stay.
func (f *folding) within(s *stay) (ids []string) {
	for _, other := range f.stays {
		inside := other != s && other.frame != s.frame && other.from >= s.from && other.to <= s.to
		if inside && f.frames[other.frame].over() && !slices.Contains(ids, other.frame) {
			ids = append(ids, other.frame)
		}
	}
	return ids
}

// answered returns the end of the text that message i replied to, if that is
// left out.
func (f *folding) answered(s *stay, i int) string {
	for j := i - 1; j >= s.from; j-- {
		if m := &f.history[j]; m.Role == core.RoleAssistant && strings.TrimSpace(m.Text) != "" {
			if f.dropped(j) {
				return lastCharacters(m.Text, Quote)
			}
			return ""
		}
	}
	return ""
}

// lastCharacters returns the last n characters of s.
func lastCharacters(s string, n int) string {
	start := len(s)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:start])
		start -= size
	}
	return s[start:]
}

// pays returns those of the folds that save more than they cost.
func (f *folding) pays(found []Fold) []Fold {
	at := places(f.history)
	savings := make([]saving, len(found))
	for i, fold := range found {
		savings[i] = saving{at[fold.Drop[0]], fold.Tokens}
	}
	return found[f.terms.firstToPay(f.history, f.gone, savings, max(requestsToCome, f.answers())):]
}

// answers returns how many answers of the model the history has.
func (f *folding) answers() (n int) {
	for i := range f.history {
		if f.history[i].Role == core.RoleAssistant {
			n++
		}
	}
	return n
}
