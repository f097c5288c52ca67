package core

import (
	"cmp"
	"slices"
)

// A stay is the stretch of a history that was spent in a frame: messages from to
// to-1. A frame that is entered again has another one.
type stay struct {
	frame    string
	from, to int
	left     int  // the last message before its frame was known to be left; -1 before that
	silent   bool // left without a call
	folds    bool // something of it is left out
}

// sweep walks the history once and finds the stays.
func (f *folding) sweep() {
	silent := f.silentMoves()
	for i := range f.history {
		for ; len(silent) > 0 && silent[0].before == i; silent = silent[1:] {
			f.move(silent[0].FoldMove, place{i, i})
		}
		for _, move := range f.history[i].Moves {
			f.move(move, place{i, i + 1})
		}
	}
}

// A place is where in the history a move happens: what it ends, ends before
// message end, and what it begins, begins with next. Between them stands the
// message that calls for it, or nothing.
type place struct{ end, next int }

// silent reports whether no call of the history moves there.
func (p place) silent() bool { return p.end == p.next }

func (f *folding) move(m FoldMove, at place) {
	switch m.Kind {
	case FoldEnter:
		f.enter(m.Frame, at)
	case FoldLeave:
		f.leave(m.Frame, at)
	}
}

// enter begins a stay. One that is left for a frame not below its own is
// interrupted: what follows later is work of another.
func (f *folding) enter(frame string, at place) {
	depth := len(f.path)
	for f.frames[frame] != nil && depth > 0 && !f.below(frame, f.path[depth-1].frame) {
		depth--
	}
	f.ascend(depth, at.end)
	s := &stay{frame: frame, from: at.next, to: len(f.history), left: -1}
	if at.silent() && f.frames[frame].over() {
		s.from = max(s.from, f.kept)
	}
	f.stays, f.path, f.latest[frame] = append(f.stays, s), append(f.path, s), s
}

// leave ends the latest stay in a frame, and those in frames entered from there,
// unless that was left before. It may have been interrupted.
func (f *folding) leave(frame string, at place) {
	s := f.latest[frame]
	if s == nil || s.left >= 0 {
		return
	}
	s.left, s.silent = at.next-1, at.silent()
	if depth := slices.Index(f.path, s); depth >= 0 {
		f.ascend(depth, at.end)
	}
}

// ascend ends the stays that lie deeper.
func (f *folding) ascend(depth, end int) {
	for _, s := range f.path[depth:] {
		s.to = end
	}
	f.path = f.path[:depth]
}

// below reports whether a frame is known to lie under another one.
func (f *folding) below(frame, above string) bool { return slices.Contains(f.ancestors(frame), above) }

// ancestors gives the ids of the frames above one, parent first, as far as they
// are known; a cycle is walked once.
func (f *folding) ancestors(frame string) (ids []string) {
	for known := f.frames[frame]; known != nil && known.Parent != "" && !slices.Contains(ids, known.Parent); known = f.frames[known.Parent] {
		ids = append(ids, known.Parent)
	}
	return ids
}

// A silentMove is one that no call in the history tells of.
type silentMove struct {
	FoldMove
	before int // the message that follows it
	at     Millis
	depth  int // of its frame in the tree
}

// silentMoves are the moves that the tree knows of and the history does not, in
// order; of moves at the same time, those of outer frames come first.
func (f *folding) silentMoves() (list []silentMove) {
	traces := f.traces()
	for id, frame := range f.frames {
		t, depth := traces[id], len(f.ancestors(id))
		before := f.firstSince(frame.EnteredAt+1, f.start)
		if frame.EnteredAt > 0 && (t.first == "" || t.first == FoldLeave && before <= t.begin) {
			list = append(list, silentMove{FoldMove{FoldEnter, id}, before, frame.EnteredAt, depth})
			t.end = max(t.end, before)
		}
		if t.last != FoldLeave && frame.Status.Ended() && frame.EndedAt > 0 {
			list = append(list, silentMove{FoldMove{FoldLeave, id}, f.firstSince(frame.EndedAt, t.end), frame.EndedAt, depth})
		}
	}
	slices.SortFunc(list, func(a, b silentMove) int {
		return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.at, b.at), cmp.Compare(a.depth, b.depth),
			cmp.Compare(a.Frame, b.Frame), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// A trace is what the calls in a history tell of one frame.
type trace struct {
	first, last FoldKind // empty without any
	begin, end  int      // the message with the first call, and the one after the last
}

func (f *folding) traces() map[string]trace {
	traces := map[string]trace{}
	for i := range f.history {
		for _, move := range f.history[i].Moves {
			t, known := traces[move.Frame]
			if !known {
				t.first, t.begin = move.Kind, i
			}
			t.last, t.end = move.Kind, i+1
			traces[move.Frame] = t
		}
	}
	return traces
}

// firstSince gives the first message from start on that was made at time since or
// later, the length of the history if there is none.
func (f *folding) firstSince(since Millis, start int) int {
	for i := start; i < len(f.history); i++ {
		if f.speaks(i) && f.history[i].Time >= since {
			return i
		}
	}
	return len(f.history)
}

// compacted finds what a compaction left at the beginning of a history: its
// summary, where nothing of an assistant's stands before it, and the older
// messages that hosts keep word for word, which follow it. It gives the first
// message after each. A summary further on stands in a history that is whole.
func compacted(history []FoldMessage) (start, kept int) {
	summary := slices.IndexFunc(history, func(m FoldMessage) bool { return m.Summary || m.Role == RoleAssistant })
	if summary < 0 || !history[summary].Summary {
		return 0, 0
	}
	kept = summary + 1
	for kept < len(history) && (history[kept].Summary || history[kept].Time < history[summary].Time) {
		kept++
	}
	return summary + 1, kept
}
