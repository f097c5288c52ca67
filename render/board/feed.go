package board

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"flame/agents"
	"flame/core"
	"flame/render"
)

// Source is a project that is open for viewing.
type Source struct {
	Agents *agents.Agents
	File   string // path of its database; empty: the data folder alone tells whether the data was replaced
	Close  func() error
}

// A Feed reads one project onto its board for all views that show it, until it is closed.
// Its methods may be called by several goroutines at once.
type Feed struct {
	life   context.Context
	stop   context.CancelFunc
	done   chan struct{} // closed after the last reading
	reopen func(ctx context.Context) (Source, error)

	mu      sync.Mutex
	opened  Source
	board   *Board
	folder  os.FileInfo // with the data, as it was opened; nil: there was none
	file    os.FileInfo // the database, likewise
	trouble *Problem
	changed chan struct{}  // closed when there is something new
	older   []func() error // close earlier openings, which requests may still use
}

// The paces of a feed.
const (
	Pace        = 250 * time.Millisecond // how often the feed reads changes
	troublePace = time.Second            // the same after an error
	lookPace    = time.Second            // how often it checks that the data was not replaced
	olderStays  = time.Minute            // before it closes an earlier opening
	closeTime   = 2 * time.Second        // how long Close waits for a reading
)

// NewFeed returns the feed of an opened project. It reads until life ends, and calls reopen if the
// project's data was replaced.
func NewFeed(life context.Context, opened Source, reopen func(ctx context.Context) (Source, error)) *Feed {
	f := &Feed{reopen: reopen, changed: make(chan struct{}), done: make(chan struct{})}
	f.life, f.stop = context.WithCancel(life)
	f.use(opened)
	go f.read()
	return f
}

// use makes the feed read an opened project from the beginning.
func (f *Feed) use(opened Source) {
	p := opened.Agents.Project
	f.opened, f.board, f.trouble = opened, New(p.Store, p.Now, opened.Agents.Hosts), nil
	f.folder, _ = os.Stat(opened.Agents.Data) // a project without data has none yet
	f.file, _ = os.Stat(opened.File)
}

// Agents returns the project's agents, which also give access to the project.
func (f *Feed) Agents() *agents.Agents {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened.Agents
}

// FeedState is the newest state of a feed, until Next is closed.
type FeedState struct {
	Board   *Board          // changes when the project is opened again
	Trouble *Problem        // nil: none
	Next    <-chan struct{} // closed when there is something new
}

// News returns the newest state.
func (f *Feed) News() FeedState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return FeedState{f.board, f.trouble, f.changed}
}

// read reads the project until the feed ends.
func (f *Feed) read() {
	defer close(f.done)
	looked := time.Time{}
	for f.life.Err() == nil {
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

// look opens the project again if its data was removed, moved or restored.
func (f *Feed) look() {
	if f.isSame() {
		return
	}
	opened, err := f.reopen(f.life) // without the lock, because it may take long
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.trouble = TroubleOf(err)
		return
	}
	old := sync.OnceValue(f.opened.Close)
	f.older = append(f.older, old)
	time.AfterFunc(olderStays, func() { _ = old() }) // flame only read it since, or it is gone
	f.use(opened)
}

// isSame reports whether the data was not replaced since it was opened. It returns true if it
// cannot tell; then reading reports the error.
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
	if err != nil || file == nil { // reading reports a missing file
		return true
	}
	if f.file != nil && !os.SameFile(f.file, file) {
		return false
	}
	f.folder, f.file = folder, file
	return true
}

// statOf returns the file at a path; nil if there is none.
func statOf(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// note records the current trouble, and reports whether it is new.
func (f *Feed) note(now *Problem) (isNew bool) {
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

// Close ends reading and closes the project.
func (f *Feed) Close() error {
	f.stop()
	select {
	case <-f.done:
	case <-time.After(closeTime): // the disk does not answer
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := []error{f.opened.Close()}
	for _, closeIt := range f.older {
		errs = append(errs, closeIt())
	}
	return errors.Join(errs...)
}

// A Problem is an error in words for people.
type Problem struct {
	Kind    string `json:"kind"` // unavailable, invalid, not found, or error
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// TroubleOf returns an error in words for people; nil for nil.
func TroubleOf(err error) *Problem {
	if err == nil {
		return nil
	}
	t := &Problem{Kind: "error", Message: core.OneLine(err.Error(), 2000), Hint: core.OneLine(render.Hint(err), 2000)}
	for kind, is := range kinds {
		if errors.Is(err, is) {
			t.Kind = kind
		}
	}
	return t
}

var kinds = map[string]error{"unavailable": core.ErrUnavailable, "invalid": core.ErrInvalid, "not found": core.ErrNotFound}
