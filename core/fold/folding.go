package fold

import (
	"cmp"
	"math"
	"slices"

	"flame/core"
)

// A folding is the state of one run of FindFolds. Its slices run parallel to the history.
type folding struct {
	history []Message
	frames  map[string]*Frame
	undone  map[string]core.Millis // by frame, when it ended by a call that the history no longer has
	gone    []*Fold                // by message, the fold of the ledger that leaves it out; nil if there is none
	noted   map[string]bool        // messages before which the ledger has a note
	terms   Conditions
	heads   []int         // by message, the message with which it stays or goes: itself, or the caller of the tools it answers
	bound   []bool        // by head: it must stay in any frame
	last    int           // head of the last round
	start   int           // end of a compaction's summary, if any
	kept    int           // end of what the compaction kept beside it
	newest  []core.Millis // see newestUpTo
	stays   []*stay       // in the order of entering
	latest  map[string]*stay
	path    []*stay             // the sweep's current position, outermost first
	follow  []int               // by message, the first at or after it that stays; made once owners are known
	above   map[string][]string // by frame, known ids of its ancestors
	owners  []*stay             // by message, the stay whose fold contains it; nil outside any fold
	drops   []bool              // by message, whether it is left out; made once owners are known
}

func newFolding(history []Message, frames []Frame, known Ledger, terms Conditions) *folding {
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
		if i > 0 && history[i].IsToolResult && history[i].Role == core.RoleUser {
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

// remember reads from the ledger which messages it leaves out, and which ends of frames were
// taken back.
func (f *folding) remember(known Ledger) {
	at := placesOf(f.history)
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

// mustStay reports whether a message stays in any frame.
func (f *folding) mustStay(i int) bool {
	m := &f.history[i]
	ofOpen := func(move Move) bool { return !f.frames[move.Frame].over() }
	words := f.heads[i] == i && m.Role != core.RoleAssistant && !m.FromHost
	return i == 0 || m.Summary || m.Open || words || slices.ContainsFunc(m.Moves, ofOpen)
}

// speaks reports whether a message is from the user or the assistant, and more than results of
// tools.
func (f *folding) speaks(i int) bool {
	role := f.history[i].Role
	return f.heads[i] == i && (role == core.RoleUser || role == core.RoleAssistant)
}

// A stay is the stretch of a history spent in a frame: messages from to to-1. Entering a frame
// again begins another stay.
type stay struct {
	frame    string
	from, to int
	left     int  // the last message before the history or the tree shows the frame's end; -1 until then
	silent   bool // no call left it
}

// compacted finds the remains of a compaction at the beginning of a history: the summary, if no
// message of the assistant precedes it, and the older messages after it that hosts keep word for
// word. It returns the first message after each. A later summary belongs to a complete history.
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

// newestUpTo returns, for each message after a compaction's summary, the time of the newest
// speaking message up to it.
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
