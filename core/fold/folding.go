package fold

import (
	"cmp"
	"math"
	"slices"

	"flame/core"
)

// A folding is the state of one run of Find. Its slices run parallel to the history.
type folding struct {
	history []Message
	frames  map[string]*Frame
	undone  map[string]core.Millis // by frame, when it ended by a call that the history has no more
	gone    []*Fold                // by message, the fold of the ledger that leaves it out; nil if none does
	noted   map[string]bool        // messages before which the ledger has a note
	terms   Terms
	heads   []int         // the message whose fate each shares: itself, or for answers the message they answer
	bound   []bool        // by head: must stay, whatever frame it is in
	last    int           // head of the last round
	start   int           // end of a compaction's summary, if any
	kept    int           // end of what the compaction kept beside it
	newest  []core.Millis // see newestUpTo
	stays   []*stay       // in the order of entering
	latest  map[string]*stay
	path    []*stay             // the sweep's current position, outermost first
	follow  []int               // by message, the first from it on that stays; made once owners are known
	above   map[string][]string // by frame, ids of those above it that are known
	owners  []*stay             // the fold that contains each message; nil outside any
	drops   []bool              // by message, whether it is left out; made once owners are known
}

func newFolding(history []Message, frames []Frame, known Ledger, terms Terms) *folding {
	f := &folding{
		history: history, frames: make(map[string]*Frame, len(frames)), latest: map[string]*stay{}, above: map[string][]string{}, terms: terms,
		heads: make([]int, len(history)), bound: make([]bool, len(history)), owners: make([]*stay, len(history)), drops: make([]bool, len(history)),
	}
	f.start, f.kept = compacted(history)
	for i := range frames {
		f.frames[frames[i].ID] = &frames[i]
	}
	for i := range history {
		f.heads[i] = i
		if i > 0 && history[i].Answers && history[i].Role == core.RoleUser {
			f.heads[i] = f.heads[i-1]
		}
		head := f.heads[i]
		f.bound[head] = f.bound[head] || f.mustStay(i)
		if f.speaks(i) {
			f.last = i
		}
	}
	f.newest = f.newestUpTo()
	f.remember(known)
	return f
}

// remember takes over what the ledger leaves out, and which ends were taken back.
func (f *folding) remember(known Ledger) {
	at := places(f.history)
	f.gone, f.noted, f.undone = known.dropped(f.history, at), map[string]bool{}, map[string]core.Millis{}
	for i := range known.Folds {
		fold := &known.Folds[i]
		if !fold.holds(at) {
			f.undone[fold.Frame] = fold.EndedAt
			continue
		}
		for _, note := range fold.Notes {
			f.noted[note.Before] = true
		}
	}
}

// mustStay reports whether a message stays wherever it is.
func (f *folding) mustStay(i int) bool {
	m := &f.history[i]
	ofOpen := func(move Move) bool { return !f.frames[move.Frame].over() }
	words := f.heads[i] == i && m.Role != core.RoleAssistant && !m.Host
	return i == 0 || m.Summary || m.Open || words || slices.ContainsFunc(m.Moves, ofOpen)
}

// speaks reports whether a message is one of the user or the assistant, not
// results of tools alone.
func (f *folding) speaks(i int) bool {
	role := f.history[i].Role
	return f.heads[i] == i && (role == core.RoleUser || role == core.RoleAssistant)
}

// A stay is the stretch of a history spent in a frame: messages from to to-1. A
// frame that is entered again gets another stay.
type stay struct {
	frame    string
	from, to int
	left     int  // the last message before its frame was known to be left; -1 until then
	silent   bool // left without a call
	folds    bool // some of it is left out
}

// compacted finds what a compaction left at the beginning of a history: its
// summary, if no assistant's message precedes it, and the older messages after
// it that hosts keep word for word. It returns the first message after each. A
// summary further on belongs to a history that is whole.
func compacted(history []Message) (start, kept int) {
	summary := slices.IndexFunc(history, func(m Message) bool { return m.Summary || m.Role == core.RoleAssistant })
	if summary < 0 || !history[summary].Summary {
		return 0, 0
	}
	kept = summary + 1
	for kept < len(history) && history[kept].Time < history[summary].Time {
		kept++
	}
	return summary + 1, kept
}

// firstSince returns the first message made at time since or later, ignoring a
// compaction's summary, or the length of the history if there is none.
func (f *folding) firstSince(since core.Millis) int {
	i, _ := slices.BinarySearchFunc(f.newest, since, func(newest, since core.Millis) int { return cmp.Compare(newest, since) })
	return f.start + i
}

// newestUpTo returns, for each message from the end of a compaction's summary on, the
// time of the newest that speaks up to it.
func (f *folding) newestUpTo() []core.Millis {
	times := make([]core.Millis, 0, len(f.history)-f.start)
	newest := core.Millis(math.MinInt64)
	for i := f.start; i < len(f.history); i++ {
		if f.speaks(i) {
			newest = max(newest, f.history[i].Time)
		}
		times = append(times, newest)
	}
	return times
}
