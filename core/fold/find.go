package fold

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// FindFolds returns the messages that flame should leave out next: the work inside frames that are
// over, unless the ledger already leaves it out. These are the messages between the one that
// entered a frame and the one that left it, with the results of their tools; and the entering
// message itself, if its first call is its only move.
//
//   - The user's words, summaries, messages with a running tool, all work in an open frame,
//     and the last round stay.
//   - Nested frames fold with the outermost; inside an open frame each folds alone.
//   - The message that left a frame stays and says how the frame ended. If there is none,
//     a note stands in its place. If the message also began the next frame, its words, its
//     calls behind the pop and the line that names the next frame go with that frame.
//   - A frame that no call entered, or whose call was compacted away, begins with the first
//     message after EnteredAt, but not before the end of the messages that the compaction
//     kept. A frame that no call left ends before the first message made after EndedAt.
//     It does not end if its end was taken back: the ledger knows a call that the history
//     no longer has.
//   - Folds that cost more than they save wait (see Prices). A turn of the user's waits until a
//     further prompt has come behind the one that followed it, an item of the host's list also only
//     until the next one has ended. The last answer stays, instead of a note.
//
// Find does not set the editions of the folds.
func FindFolds(history []Message, frames []Frame, known Ledger, terms Conditions) []Fold {
	if terms.Holds {
		return nil
	}
	f := newFolding(history, frames, known, terms)
	f.sweep()
	f.claim()
	return f.result()
}

// claim assigns each message to the fold that contains it. Inner stays come
// after outer ones; messages of an open frame belong to no fold.
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
			if answer := f.answer(s); answer >= 0 {
				f.owners[answer] = nil
			}
		}
	}
	f.settle()
}

// closed reports whether a stay has ended, and may fold.
func (f *folding) closed(s *stay) bool {
	over := s.left >= 0 && (s.left < f.last || s.left == f.last && !s.silent && !f.terms.Leads)
	return over && !f.waits(s)
}

func (f *folding) give(from, to int, owner *stay) {
	for i := from; i < to; i++ {
		f.owners[i] = owner
	}
}

// settle decides which messages of folding frames are left out. The last round always stays.
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

// fixed returns, for each message, the next head behind it that must stay; -1 if there is none.
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

// parts reports whether a head has to stay because of the head that stays before it. A host's
// message in the user's name stays right after an answer: otherwise two answers could meet. An
// answer stays right after a message of role system, which needs an answer behind it, unless
// the next head to stay is an answer too.
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

// result returns the folds that pay.
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
		f.beginningOf(s, by[s])
		found = append(found, *by[s])
	}
	return f.pays(found)
}

// isNew reports whether a message is left out now that the ledger does not leave out yet.
func (f *folding) isNew(i int) bool { return f.drops[i] && f.gone[i] == nil }

// begin returns the fold of a stay, without any messages yet.
func (f *folding) begin(s *stay) *Fold {
	fold := &Fold{Frame: s.frame, EndedAt: f.frames[s.frame].EndedAt, EndMessage: f.history[s.left].Name}
	if s.silent {
		fold.EndMessage = f.history[f.next(s.left+1)].Name
	}
	return fold
}

// next returns the first message at or after i that stays.
func (f *folding) next(i int) int {
	if f.follow == nil {
		f.follow = make([]int, len(f.history))
		stays := len(f.history)
		for k := len(f.history) - 1; k >= 0; k-- {
			if !f.drops[k] {
				stays = k
			}
			f.follow[k] = stays
		}
	}
	return f.follow[i]
}

// note adds the notes about the frame to a fold: one before each message of the user in the
// frame, and one behind the frame if no call ended it.
func (f *folding) note(s *stay, fold *Fold) {
	for i := s.from; i < s.to; i++ {
		m := &f.history[i]
		if f.owners[i] == s && f.isNew(i) && m.UserWords != "" {
			text := core.MessageAfterEndNote(f.frames[s.frame].Frame, f.answered(s, i)) + m.UserWords
			fold.Notes = append(fold.Notes, Note{Before: f.history[f.next(i)].Name, Text: text, Words: true})
		}
		inside := f.owners[i] == s && !f.drops[i] && !f.unasked(s)
		if inside && !f.noted[m.Name] && f.speaks(i) && m.Role == core.RoleUser && !m.FromHost && !m.Summary {
			fold.Notes = append(fold.Notes, Note{Before: m.Name, Text: core.MessageAfterEndNote(f.frames[s.frame].Frame, f.answered(s, i))})
		}
	}
	if s.silent && f.answer(s) < 0 {
		fold.Notes = append(fold.Notes, Note{Before: fold.EndMessage, Text: core.FrameEndedNote(f.frames[s.frame].Frame, f.within(s))})
	}
	if fold.Facts = f.facts(s); fold.Facts != "" && fold.Tokens >= leastFacts {
		fold.Notes = append(fold.Notes, Note{Before: fold.EndMessage, Text: factsRemark(s.frame, fold.Facts)})
	}
}

// beganTokens are the tokens of the line of a pop's answer that names the new frame.
const beganTokens = 12

// beginningOf cuts what belongs to a frame in the message that began it by leaving another one.
func (f *folding) beginningOf(s *stay, fold *Fold) {
	m := f.begunBy(s)
	if m == nil {
		return
	}
	for _, call := range m.Calls {
		fold.Cuts = append(fold.Cuts, Cut{Message: m.Name, Call: call.ID, Tokens: call.Tokens})
	}
	if pop := m.Moves[0]; pop.Call != "" {
		fold.Cuts = append(fold.Cuts, Cut{Message: m.Name, Call: pop.Call, Text: pop.Rest, Tokens: int(sizeOf(pop.Rest)) + beganTokens})
	}
	if m.Text != "" {
		fold.Cuts = append(fold.Cuts, Cut{Message: m.Name, Tokens: int(sizeOf(m.Text))})
	}
	for _, cut := range fold.Cuts {
		fold.Tokens += int(cut.saved())
	}
}

// begunBy returns the message whose pop of another frame began a stay; nil without such a message, or
// if it is left out itself.
func (f *folding) begunBy(s *stay) *Message {
	if s.from == 0 || f.drops[s.from-1] {
		return nil
	}
	m := &f.history[s.from-1]
	if len(m.Moves) == 2 && m.Moves[0].Kind == Leave && m.Moves[0].First && m.Moves[1] == (Move{Kind: Enter, Frame: s.frame}) {
		return m
	}
	return nil
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

// answered returns the end of the text that message i replies to, if that text is left out.
func (f *folding) answered(s *stay, i int) string {
	for j := i - 1; j >= s.from; j-- {
		if m := &f.history[j]; m.Role == core.RoleAssistant && strings.TrimSpace(m.Text) != "" {
			if f.drops[j] {
				return core.Tail(m.Text, Quote)
			}
			return ""
		}
	}
	if m := f.begunBy(s); m != nil {
		return core.Tail(m.Text, Quote)
	}
	return ""
}

// pays returns the folds that save more than they cost.
func (f *folding) pays(found []Fold) []Fold {
	at := placesOf(f.history)
	savings := make([]savingPerRequest, len(found))
	for i, fold := range found {
		savings[i] = savingPerRequest{at[fold.Drop[0]], fold.Tokens}
	}
	answers := lo.CountBy(f.history, func(m Message) bool { return m.Role == core.RoleAssistant })
	return found[f.terms.firstToPay(f.history, f.gone, savings, max(RequestsToCome, answers)):]
}
