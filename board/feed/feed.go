// Package feed reads a project onto its board for all who look at it, for as long as
// somebody does. Where the project cannot be read it says why, and goes on when that is
// mended.
package feed

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"flame/agents"
	"flame/board"
)

// Opened is a project that was opened to be looked at.
type Opened struct {
	Agents *agents.Agents
	File   string // path of its database; empty: the data folder alone tells whether the data was replaced
	Close  func() error
}

// A Feed reads one project for all views that show it, while there are any. Its methods
// may be called by several goroutines at once.
type Feed struct {
	life   context.Context
	reopen func(ctx context.Context) (Opened, error)

	mu      sync.Mutex
	opened  Opened
	board   *board.Board
	folder  os.FileInfo // with the data, as it was opened; nil: there was none
	file    os.FileInfo // the database, likewise
	trouble *Trouble
	viewers int
	reading bool
	changed chan struct{}   // closed when there is something new
	older   map[*older]bool // not closed yet
	closed  bool
}

// older is the project as it was opened before. A request may still use it.
type older struct {
	close func() error
	timer *time.Timer
}

// The paces of a feed.
const (
	Pace        = 250 * time.Millisecond // how often the project is asked whether it has changed
	troublePace = time.Second            // the same, where it could not be read
	lookPace    = time.Second            // how often it is made sure that the data is still the same
	olderStays  = time.Minute            // after which what was opened before is closed
)

// New returns the feed of an opened project. It reads until life ends, and opens the
// project again by reopen where its data was put back.
func New(life context.Context, opened Opened, reopen func(ctx context.Context) (Opened, error)) *Feed {
	f := &Feed{life: life, reopen: reopen, changed: make(chan struct{}), older: map[*older]bool{}}
	f.use(opened)
	return f
}

// use has the feed read an opened project from its beginning.
func (f *Feed) use(opened Opened) {
	p := opened.Agents.Project
	f.opened, f.board, f.trouble = opened, board.New(p.Store, p.Now), nil
	f.folder, _ = os.Stat(opened.Agents.Data) // a project without data has none yet
	f.file, _ = os.Stat(opened.File)
}

// Agents returns the project's agents, by which it is read and changed.
func (f *Feed) Agents() *agents.Agents {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened.Agents
}

// News is what there is to see, until Next is closed.
type News struct {
	Board   *board.Board    // another one once the project was opened again
	Trouble *Trouble        // nil: none
	Next    <-chan struct{} // closed when there is something new
}

// News returns what there is to see.
func (f *Feed) News() News {
	f.mu.Lock()
	defer f.mu.Unlock()
	return News{f.board, f.trouble, f.changed}
}

// Join counts a view in, until leave is called.
func (f *Feed) Join() (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.viewers++
	if !f.reading {
		f.reading = true
		go f.read()
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.viewers--
	}
}

// read reads the project until no view is left, or the life of the feed ends.
func (f *Feed) read() {
	looked := time.Time{}
	for f.isWatched() {
		if time.Since(looked) >= lookPace {
			looked = time.Now()
			f.look()
		}
		pace := Pace
		changed, err := f.News().Board.Read(f.life)
		if err != nil {
			pace = troublePace
		}
		if f.note(TroubleOf(err)) || changed {
			f.tell()
		}
		select {
		case <-f.life.Done():
		case <-time.After(pace):
		}
	}
}

// isWatched reports whether reading goes on; once it does not, the next view begins it
// again.
func (f *Feed) isWatched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading = f.viewers > 0 && f.life.Err() == nil
	return f.reading
}

// look opens the project again where its data is not what was opened: that was removed,
// moved or put back.
func (f *Feed) look() {
	if f.isSame() {
		return
	}
	opened, err := f.reopen(f.life) // it may take long: nobody waits for it
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		f.trouble = TroubleOf(err)
	case f.closed:
		_ = opened.Close() // nobody looks any more
	default:
		f.retire(f.opened.Close)
		f.use(opened)
	}
}

// isSame reports whether the data is what was opened, or its state cannot be told: then
// reading says what is wrong.
func (f *Feed) isSame() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	folder, err := statOf(f.opened.Agents.Data)
	if err != nil {
		return true
	}
	if f.folder != nil && (folder == nil || !os.SameFile(f.folder, folder)) {
		return false
	}
	file, err := statOf(f.opened.File)
	if err != nil || file == nil { // without it, what is read says so
		return true
	}
	if f.file != nil && !os.SameFile(f.file, file) {
		return false
	}
	f.folder, f.file = folder, file
	return true
}

// statOf returns what is at a path; nil for nothing.
func statOf(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// retire closes what was opened before, after a while.
func (f *Feed) retire(closeIt func() error) {
	o := &older{close: closeIt}
	f.older[o] = true
	o.timer = time.AfterFunc(olderStays, func() {
		f.mu.Lock()
		mine := f.older[o]
		delete(f.older, o)
		f.mu.Unlock()
		if mine {
			_ = o.close() // it was only read since, or is gone
		}
	})
}

// note keeps what is wrong, and reports whether that is new.
func (f *Feed) note(now *Trouble) (isNew bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	isNew = (now == nil) != (f.trouble == nil) || now != nil && *now != *f.trouble
	f.trouble = now
	return isNew
}

// tell wakes all views.
func (f *Feed) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

// Close closes the project.
func (f *Feed) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	errs := []error{f.opened.Close()}
	for o := range f.older {
		o.timer.Stop()
		errs = append(errs, o.close())
	}
	clear(f.older)
	return errors.Join(errs...)
}
