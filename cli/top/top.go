// Package top shows a project live in a terminal: its running agents, the tree of frames with
// their usage, and the texts of a frame. The data comes from the project's board; the picture
// depends only on a Screen.
package top

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"flame/core"
	"flame/render/board"
)

// Options name the project and the terminal.
type Options struct {
	In, Out *os.File // of the terminal
	Colours bool
	Project string // its name

	// Open opens the project. The project is closed while the screen is suspended, so that no
	// stopped process holds its lock.
	Open func(ctx context.Context) (board.Opened, error)
}

// The paces of a screen.
const (
	drawPace  = 250 * time.Millisecond // between drawings for changes; keys are drawn at once
	clockPace = time.Second            // between drawings for running times
	escPace   = 50 * time.Millisecond  // how soon the rest of a key's sequence arrives
)

// Run shows the project until a person leaves it or ctx ends, and then restores the terminal, also
// after a panic on this goroutine. Guard restores it in all other cases.
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
	done    chan func(*Screen) // results of tasks
	tasks   sync.WaitGroup

	board   *board.Board // that the screen shows
	version int64        // of it
	drawn   time.Time    // when the screen was drawn last
}

// listen sends the typed bytes. It ends with the process, because nothing else wakes it.
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

// look opens the project, shows it until the person leaves or suspends it, and closes it.
func (r *runner) look(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	opened, err := r.Open(ctx)
	if err != nil {
		stop()
		return err
	}
	source := board.NewFeed(ctx, opened, r.Open)
	defer func() {
		stop()
		r.tasks.Wait()
		_ = source.Close() // nothing was written
	}()
	if err := r.term.enter(); err != nil {
		return core.Unavailablef(err, "the terminal cannot be used: %v", err)
	}
	defer r.term.leave()
	r.follow(ctx, source)
	return nil
}

// follow shows changes, and does the actions of keys.
func (r *runner) follow(ctx context.Context, source *board.Feed) {
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

// take applies changes to the screen, and returns a channel that reports the next change.
func (r *runner) take(source *board.Feed) <-chan struct{} {
	news := source.News()
	if news.Board != r.board {
		r.board, r.version = news.Board, 0
	}
	change := news.Board.Since(r.version)
	r.version = change.Version
	r.screen.Take(change, news.Trouble)
	return news.Next
}

// press does the actions of keys.
func (r *runner) press(ctx context.Context, source *board.Feed, keys []key) {
	for _, k := range keys {
		r.screen.Width, r.screen.Height = r.term.size() // a key that scrolls needs it
		r.start(ctx, source, r.screen.Key(k))
		r.screen.Settle()
	}
	r.draw()
}

// start begins a task, if there is one.
func (r *runner) start(ctx context.Context, source *board.Feed, t task) {
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

// stopTime is how soon a shell stops a process.
const stopTime = 300 * time.Millisecond

// suspend stops this process and the others of the same command, as Ctrl-Z does in a shell. If no
// shell can continue it, the system does not stop it, and it runs on.
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
