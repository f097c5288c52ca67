// Package top shows a project live in a terminal: what its agents do, the tree of frames
// with what each and those below it used, and the texts of one. What is shown is its
// board's; what is drawn depends on what a Screen holds and on nothing else.
package top

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"flame/board"
	"flame/board/feed"
	"flame/core"
)

// Options say what to show, and where.
type Options struct {
	In, Out *os.File // of the terminal
	Colours bool
	Project string // its name

	// Open opens the project. It is closed while the terminal is another's, so that no
	// process that is stopped holds its lock.
	Open func(ctx context.Context) (feed.Opened, error)
}

// The paces of a screen.
const (
	drawPace  = 250 * time.Millisecond // how often it is drawn for what changed; for keys at once
	clockPace = time.Second            // the same, for times that go on
	escPace   = 50 * time.Millisecond  // how soon the rest of what a key sends comes after its beginning
)

// Run shows the project until a person leaves it or ctx ends. The terminal is then as it
// was, also after a panic here; Guard sees to it where this process cannot.
func Run(ctx context.Context, opts Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	r := &runner{
		Options: opts, screen: NewScreen(opts.Project, time.Local), keys: make(chan string), done: make(chan func(*Screen)),
		term: terminal{in: opts.In, out: opts.Out, colours: opts.Colours},
	}
	go r.listen(ctx)
	for {
		if err := r.look(ctx); err != nil {
			return err
		}
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case r.screen.over:
			return nil
		}
		r.suspend()
	}
}

// A runner runs a screen in a terminal.
type runner struct {
	Options
	term    terminal
	screen  *Screen
	keys    chan string
	decoder decoder
	done    chan func(*Screen) // what tasks came to
	tasks   sync.WaitGroup

	board   *board.Board // that the screen shows
	version int64        // of it
	drawn   time.Time    // when the screen was drawn last
}

// listen passes on what is typed. It ends with the process: nothing else wakes it.
func (r *runner) listen(ctx context.Context) {
	defer close(r.keys)
	buffer := make([]byte, 4096)
	for {
		n, err := r.In.Read(buffer)
		if err != nil {
			return // the terminal is gone
		}
		select {
		case r.keys <- string(buffer[:n]):
		case <-ctx.Done():
			return
		}
	}
}

// look shows the project until the person leaves or suspends it. It is open for that long.
func (r *runner) look(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	opened, err := r.Open(ctx)
	if err != nil {
		stop()
		return err
	}
	source := feed.New(ctx, opened, r.Open)
	leave := source.Join()
	defer func() {
		leave()
		stop()
		r.tasks.Wait()
		_ = source.Close() // what was read is shown, and nothing was written
	}()
	if err := r.term.enter(); err != nil {
		return core.Unavailablef(err, "the terminal cannot be used: %v", err)
	}
	defer r.term.leave()
	r.follow(ctx, source)
	return nil
}

// follow shows what changes, and does what keys are for.
func (r *runner) follow(ctx context.Context, source *feed.Feed) {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	clock := time.NewTicker(clockPace)
	defer clock.Stop()
	var soon, esc <-chan time.Time
	next := r.take(source)
	for r.draw(); !r.screen.over && !r.screen.suspended; {
		select {
		case <-ctx.Done():
			return
		case sent, is := <-r.keys:
			if !is {
				r.screen.over = true
				return
			}
			r.press(ctx, source, r.decoder.feed(sent))
			if esc = nil; r.decoder.waits() {
				esc = time.After(escPace)
			}
		case <-esc:
			r.press(ctx, source, r.decoder.flush())
		case do := <-r.done:
			do(r.screen)
			r.draw()
		case <-resized:
			r.draw()
		case <-next:
			next, soon = nil, time.After(drawPace-time.Since(r.drawn))
		case <-soon:
			next = r.take(source)
			r.draw()
		case now := <-clock.C:
			next = r.take(source)
			r.start(ctx, source, r.screen.Refresh(now))
			r.draw()
		}
	}
}

// take has the screen know what changed, and returns what tells of the next change.
func (r *runner) take(source *feed.Feed) <-chan struct{} {
	news := source.News()
	if news.Board != r.board {
		r.board, r.version = news.Board, 0
	}
	change := news.Board.Since(r.version)
	r.version = change.Version
	r.screen.Take(change, news.Trouble)
	return news.Next
}

// press does what keys are for.
func (r *runner) press(ctx context.Context, source *feed.Feed, keys []key) {
	for _, k := range keys {
		r.screen.Width, r.screen.Height = r.term.size() // a key that scrolls goes by it
		r.start(ctx, source, r.screen.Key(k))
		r.screen.Settle()
	}
	r.draw()
}

// start begins a task, if there is one.
func (r *runner) start(ctx context.Context, source *feed.Feed, t task) {
	if t == nil {
		return
	}
	r.tasks.Go(func() {
		then := t(ctx, source.Agents())
		select {
		case r.done <- then:
		case <-ctx.Done():
		}
	})
}

// draw draws the screen as wide and high as the terminal is now.
func (r *runner) draw() {
	s := r.screen
	s.Width, s.Height = r.term.size()
	s.Settle()
	if r.term.show(s.Lines(), s.Width, s.Height) != nil {
		s.over = true // the terminal is gone
	}
	r.drawn = time.Now()
}

// stopTime is how soon a process is stopped that a shell can stop.
const stopTime = 300 * time.Millisecond

// suspend stops this process, and what belongs to the same command, as a Ctrl-Z does where
// a terminal sees it. Where no shell could continue it, it goes on.
func (r *runner) suspend() {
	r.screen.suspended = false
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	defer signal.Stop(again)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-again:
	case <-time.After(stopTime):
	}
}
