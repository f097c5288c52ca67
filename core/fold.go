package core

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A FoldMessage is the skeleton of one message of a conversation, as its host
// is about to send it: all that folding needs to know. IDs are unique.
type FoldMessage struct {
	ID      string
	Role    Role
	Time    Millis // of creation
	Summary bool   // the result of a compaction: never left out
	// Answers says that the message is the user's in name only: it holds the
	// results of tools that the previous message called. If the user's words
	// stand beside them it is false, and the previous message is Open.
	Answers bool
	Host    bool       // the user's in name only: the host says something
	Open    bool       // must stay: one of its tools has not ended
	Moves   []FoldMove // its successful calls of flame, in order
	Text    string     // an assistant's words; the last FoldQuote characters suffice
}

// FoldQuote is how much of an assistant's words, in characters, is quoted
// before the user's message that answered them.
const FoldQuote = 500

// A FoldMove is a call that entered or left a frame.
type FoldMove struct {
	Kind  FoldKind
	Frame string // id
}

// FoldKind is the direction of a move.
type FoldKind string

// The directions of a move.
const (
	FoldEnter FoldKind = "enter" // push, activate
	FoldLeave FoldKind = "leave" // pop
)

// A FoldFrame is what the tree knows of a frame that the conversation names or
// that its session worked in.
type FoldFrame struct {
	ID, Parent    string
	Goal, Summary string
	Status        Status
	EnteredAt     Millis // when the conversation's own session last entered it; 0 if it never did
	EndedAt       Millis // 0 while open
}

// over reports whether nobody works in the frame any more. A frame that the
// tree does not know may still be open.
func (f *FoldFrame) over() bool { return f != nil && (f.Status.Ended() || f.Status == Invalidated) }

// Folded is the result of folding a history.
type Folded struct {
	Drop  []string   // ids of the messages to leave out, in order
	Notes []FoldNote // in order
}

// A FoldNote is text by flame that is inserted right before a message that
// stays: it says where a message of the user was written, or how a frame that
// no call ended did end.
type FoldNote struct {
	Before string // id of the message
	Text   string
}

// Fold leaves out of a history what was done inside frames that are over: the
// whole assistant messages strictly between the one that entered a frame and
// the one that left it, with the results of their tools.
//
//   - The user's messages, summaries, messages with a tool still at work and
//     everything done in an open frame stay.
//   - Nested frames fold with the outermost; inside an open one each folds alone.
//   - A frame folds once a message follows the one that left it: the reasoning of
//     the last round must stay.
//   - A frame that no call entered, or whose call was compacted away, begins with
//     the first message after EnteredAt, but not before the end of what the
//     compaction kept. One that no call left ends before the first message made
//     after EndedAt.
//
// It is pure. As a history grows at its end, what was left out stays left out.
func Fold(history []FoldMessage, frames []FoldFrame) Folded {
	f := newFolding(history, frames)
	f.sweep()
	f.claim()
	return f.result()
}

// A folding is the state of one run of Fold. Its slices run parallel to the
// history.
type folding struct {
	history []FoldMessage
	frames  map[string]*FoldFrame
	heads   []int   // the message whose fate each shares: itself, or for answers the message they answer
	bound   []bool  // by head: must stay, whatever frame it is in
	last    int     // head of the last round
	start   int     // end of a compaction's summary, if any
	kept    int     // end of what the compaction kept beside it
	stays   []*stay // in the order of entering
	latest  map[string]*stay
	path    []*stay // the sweep's current position, outermost first
	owners  []*stay // the fold that contains each message; nil outside any
}

func newFolding(history []FoldMessage, frames []FoldFrame) *folding {
	f := &folding{
		history: history, frames: make(map[string]*FoldFrame, len(frames)), latest: map[string]*stay{},
		heads: make([]int, len(history)), bound: make([]bool, len(history)), owners: make([]*stay, len(history)),
	}
	f.start, f.kept = compacted(history)
	for i := range frames {
		f.frames[frames[i].ID] = &frames[i]
	}
	for i := range history {
		f.heads[i] = i
		if i > 0 && history[i].Answers && history[i].Role == RoleUser {
			f.heads[i] = f.heads[i-1]
		}
		head := f.heads[i]
		f.bound[head] = f.bound[head] || f.mustStay(i)
		if f.speaks(i) {
			f.last = i
		}
	}
	return f
}

// mustStay reports whether a message stays wherever it is.
func (f *folding) mustStay(i int) bool {
	m := &f.history[i]
	ofOpen := func(move FoldMove) bool { return !f.frames[move.Frame].over() }
	words := f.heads[i] == i && m.Role != RoleAssistant && !(m.Host && m.Role == RoleUser)
	return i == 0 || m.Summary || m.Open || words || slices.ContainsFunc(m.Moves, ofOpen)
}

// speaks reports whether a message is one of the user or the assistant, not
// results of tools alone.
func (f *folding) speaks(i int) bool {
	role := f.history[i].Role
	return f.heads[i] == i && (role == RoleUser || role == RoleAssistant)
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
		case s.left >= 0 && s.left < f.last && s.from < s.to && f.owners[s.from] == nil:
			f.give(s.from, s.to, s)
		}
	}
	for i := range f.history {
		if f.dropped(i) {
			f.owners[f.heads[i]].folds = true
		}
	}
}

func (f *folding) give(from, to int, owner *stay) {
	for i := from; i < to; i++ {
		f.owners[i] = owner
	}
}

// dropped reports whether a message is left out.
func (f *folding) dropped(i int) bool {
	head := f.heads[i]
	return f.owners[head] != nil && !f.bound[head]
}

// result collects the outcome.
func (f *folding) result() (folded Folded) {
	stubs := f.stubs()
	for i, m := range f.history {
		if f.dropped(i) {
			folded.Drop = append(folded.Drop, m.ID)
			continue
		}
		for _, s := range stubs[i] {
			folded.Notes = append(folded.Notes, FoldNote{m.ID, f.stub(s)})
		}
		if s := f.owners[i]; s != nil && s.folds && f.speaks(i) && m.Role == RoleUser && !m.Host && !m.Summary {
			folded.Notes = append(folded.Notes, FoldNote{m.ID, f.saidIn(s, i)})
		}
	}
	return folded
}

// stubs returns the folds that no call ended, by the message that follows them.
func (f *folding) stubs() map[int][]*stay {
	stubs := map[int][]*stay{}
	for _, s := range f.stays {
		if !s.folds || !s.silent {
			continue
		}
		at := s.left + 1
		for f.dropped(at) {
			at++
		}
		stubs[at] = append(stubs[at], s)
	}
	return stubs
}

// noteQuota is what the fields of a note share, in UTF-16 code units: a summary
// may take 700 tokens, and a quotation always fits.
const noteQuota = 4000

// stub returns a note on how a frame ended.
func (f *folding) stub(s *stay) string {
	return f.note("flame-ended", s, []field{{tag: "summary", text: f.frames[s.frame].Summary, share: 0.7, mark: cutMark}}, "")
}

// saidIn returns a note on the frame in which the user wrote message i.
func (f *folding) saidIn(s *stay, i int) string {
	return f.note("flame-said-in", s, []field{{tag: "answered", text: f.answered(s, i), share: 1, mark: cutMark}},
		"  <note>The user wrote the message after this one in that frame, and it was dealt with there.</note>\n")
}

// answered returns the end of the text that message i replied to, if that is
// left out.
func (f *folding) answered(s *stay, i int) string {
	for j := i - 1; j >= s.from; j-- {
		if m := &f.history[j]; m.Role == RoleAssistant && strings.TrimSpace(m.Text) != "" {
			if f.dropped(j) {
				return lastCharacters(m.Text, FoldQuote)
			}
			return ""
		}
	}
	return ""
}

// note returns an element about the frame of a stay: only facts, with all of
// the frame's text as data.
func (f *folding) note(tag string, s *stay, fields []field, body string) string {
	known := f.frames[s.frame]
	frame := &Frame{ID: known.ID, Status: known.Status, Goal: known.Goal}
	e := newElement("", tag, frame, append([]field{goalField(frame)}, fields...))
	e.body = rendering{text: body, units: units(body)}
	return e.render(noteQuota, 2*noteQuota).text
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
