package fold

import (
	"cmp"
	"slices"

	"flame/core"
)

// sweep walks the history once and finds the stays.
func (f *folding) sweep() {
	silent := f.silentMoves()
	for i := range f.history {
		for ; len(silent) > 0 && silent[0].before == i; silent = silent[1:] {
			f.move(silent[0].Move, place{end: i, next: i, silent: true})
		}
		moves := f.history[i].Moves
		for _, move := range moves {
			at := place{end: i, next: i + 1}
			if move.Kind == Enter && move.First && len(moves) == 1 {
				at.next = i
			}
			f.move(move, at)
		}
	}
}

// A place is where a move happens in the history. A stay that the move ends, ends before
// message end; a stay that it begins, begins with message next. If a message called for the
// move, it is end; the stay begins with that message if it does nothing else.
type place struct {
	end, next int
	silent    bool // no call made the move
}

func (f *folding) move(m Move, at place) {
	switch m.Kind {
	case Enter:
		f.enter(m.Frame, at)
	case Leave:
		f.leave(m.Frame, at)
	}
}

// enter begins a stay. It interrupts stays in frames that the new frame is not below: the next
// messages belong to other work. Only an item of the host's list interrupts none but turns and items.
func (f *folding) enter(frame string, at place) {
	depth := len(f.path)
	for f.frames[frame] != nil && depth > 0 && !f.below(frame, f.path[depth-1].frame) {
		if at.silent && f.frames[frame].Item && !f.unasked(f.path[depth-1]) {
			return // the session works elsewhere, in a frame that it made
		}
		depth--
	}
	f.ascend(depth, at.end)
	s := &stay{frame: frame, from: at.next, to: len(f.history), left: -1}
	if at.silent && f.frames[frame].over() {
		s.from = max(s.from, f.kept)
	}
	f.stays, f.path, f.latest[frame] = append(f.stays, s), append(f.path, s), s
}

// leave ends the latest stay in a frame and the stays entered from there, unless that stay has
// already ended. The stay may have been interrupted.
func (f *folding) leave(frame string, at place) {
	s := f.latest[frame]
	if s == nil || s.left >= 0 {
		return
	}
	s.left, s.silent = at.next-1, at.silent
	if depth := slices.Index(f.path, s); depth >= 0 {
		f.ascend(depth, at.end)
	}
}

// ascend ends the stays that are deeper than depth.
func (f *folding) ascend(depth, end int) {
	for _, s := range f.path[depth:] {
		s.to = end
	}
	f.path = f.path[:depth]
}

// below reports whether the tree shows a frame below another.
func (f *folding) below(frame, above string) bool { return slices.Contains(f.ancestors(frame), above) }

// ancestors returns the known ids of a frame's ancestors, parent first. It walks a cycle only
// once.
func (f *folding) ancestors(frame string) []string {
	if ids, known := f.above[frame]; known {
		return ids
	}
	var ids []string
	seen := map[string]bool{}
	for known := f.frames[frame]; known != nil && known.Parent != "" && !seen[known.Parent]; known = f.frames[known.Parent] {
		ids, seen[known.Parent] = append(ids, known.Parent), true
	}
	f.above[frame] = ids
	return ids
}

// A silentMove is a move without a call in the history.
type silentMove struct {
	Move
	before int // the message that follows it
	at     core.Millis
	depth  int // of its frame in the tree
}

// silentMoves returns the moves that only the tree shows, in order of time; at the same time,
// moves of outer frames come first. If a frame's first call enters it, that call is the entry. A
// frame that a call has left does not end again, nor does a frame whose end was taken back.
func (f *folding) silentMoves() (list []silentMove) {
	firsts := f.firstCalls()
	for id, frame := range f.frames {
		first, depth := firsts[id], len(f.ancestors(id))
		before := f.firstSince(frame.EnteredAt + 1)
		if frame.EnteredAt > 0 && (first.kind == "" || first.kind == Leave && before <= first.at) {
			list = append(list, silentMove{Move{Kind: Enter, Frame: id}, before, frame.EnteredAt, depth})
		}
		if frame.over() && !frame.OtherSession && f.undone[id] != frame.EndedAt {
			list = append(list, silentMove{Move{Kind: Leave, Frame: id}, f.endOf(frame), frame.EndedAt, depth})
		}
	}
	slices.SortFunc(list, func(a, b silentMove) int {
		return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.at, b.at), cmp.Compare(a.depth, b.depth),
			cmp.Compare(a.Frame, b.Frame), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// endOf returns the message before which a frame ended, if no call left it. Messages without a
// time right before that message may belong to the frame or follow it; so the frame ends before
// them.
func (f *folding) endOf(frame *Frame) int {
	dated := f.firstSince(frame.EndedAt)
	end := dated
	for i := dated - 1; i >= f.start && (!f.speaks(i) || f.history[i].Time == 0 && i > 0); i-- {
		for _, move := range f.history[i].Moves {
			if move.Kind == Leave && move.Frame == frame.ID {
				return dated
			}
		}
		if f.speaks(i) {
			end = i
		}
	}
	return end
}

// A firstCall is the first call in a history that concerns a frame.
type firstCall struct {
	kind Kind // empty if there is none
	at   int  // its message
}

func (f *folding) firstCalls() map[string]firstCall {
	calls := map[string]firstCall{}
	for i := range f.history {
		for _, move := range f.history[i].Moves {
			if _, known := calls[move.Frame]; !known {
				calls[move.Frame] = firstCall{move.Kind, i}
			}
		}
	}
	return calls
}
