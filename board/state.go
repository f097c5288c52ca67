package board

import (
	"sync"

	"flame/core"
	"flame/project"
)

// A Board holds what was read of a project last. Its methods may be called by several
// goroutines at once.
type Board struct {
	store project.Store
	now   func() core.Millis

	reads sync.Mutex // held while the store is read: only then is what follows written

	mu       sync.Mutex
	version  int64 // raised with each change of what follows
	frames   forest
	agents   map[string]entry[Agent]
	sessions map[string]core.Session // of frames and agents, ended ones too
	open     entry[[]Session]
	waiting  entry[[]Conflict]
	told     entry[[]Notice]
	gaps     entry[[]core.Stretch]
	running  map[string]bool   // agents that flame started and that had not ended
	natives  map[string]bool   // native subagents that had not ended
	abroad   map[string]bool   // agents of other machines that had not ended
	live     map[string]bool   // sessions without a parent that had not ended
	working  map[string]string // agents by their frame
	busy     busy
	idle     map[string][]core.Stretch
	seen     seen
}

// An entry is a value with the version of the board in which it changed last.
type entry[T any] struct {
	value T
	at    int64
}

// seen is how far the store was read.
type seen struct {
	begun    bool
	revision int64
	last     mark        // of the last event
	inDoubt  bool        // whether frames were deleted
	counted  core.Millis // when that was found out last
	asked    string      // native subagent from which on the next ones are read
}

// A mark tells an event from one that another copy of the store has in its place.
type mark struct {
	seq   int64
	at    core.Millis
	event string
}

func markOf(e core.Event) mark { return mark{e.Seq, e.TS, e.Event} }

// New returns a board of a project that has read nothing yet.
func New(store project.Store, now func() core.Millis) *Board {
	b := &Board{store: store, now: now}
	b.forget()
	return b
}

// forget empties the board: what is read next is all there is.
func (b *Board) forget() {
	b.frames, b.seen = newForest(), seen{}
	b.agents, b.sessions = map[string]entry[Agent]{}, map[string]core.Session{}
	b.running, b.natives, b.abroad, b.live = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	b.working, b.idle, b.busy = map[string]string{}, map[string][]core.Stretch{}, busy{}
	b.open, b.waiting, b.told, b.gaps = entry[[]Session]{}, entry[[]Conflict]{}, entry[[]Notice]{}, entry[[]core.Stretch]{}
}

// since returns the value if it changed after a version, else nil.
func (e entry[T]) since(version int64) *T {
	if e.at <= version && version > 0 {
		return nil
	}
	return &e.value
}
