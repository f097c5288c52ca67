package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"flame/core"
	"flame/local/guard"
	"flame/local/place"
	"flame/render/board"
)

// Options say how to serve the page.
type Options struct {
	Guard       *guard.Guard // who may connect
	Secret      string       // with which it proves that it is the same server (guard.Proof)
	Project     string       // name of the project that the page opens with
	Logger      *slog.Logger
	Version     string        // of flame
	IdleTimeout time.Duration // how long a project stays open after its last use; 0: some minutes

	// Open opens a project by its name for the life of the server.
	Open func(ctx context.Context, name string) (board.Source, error)
	// Projects lists the projects with data, the last used first.
	Projects func(ctx context.Context) ([]ProjectInfo, error)
}

// A ProjectInfo is a project that has data.
type ProjectInfo struct {
	place.ProjectData
	Bytes    int64       `json:"bytes"`
	LastUsed core.Millis `json:"lastUsed"`
}

// projects holds the open projects.
type projects struct {
	Options
	life context.Context // of the server

	mu      sync.Mutex
	shown   map[string]*openProject // by name
	closing sync.WaitGroup
}

// An openProject is a project that stays open while requests use it, and some time longer.
type openProject struct {
	ready  chan struct{} // closed once it is open, or cannot be opened
	feed   *board.Feed
	err    error
	users  int         // streams and requests
	closes *time.Timer // closes it; nil: not started
}

// lingers is how long a project stays open unless Options say otherwise.
const lingers = 5 * time.Minute

// feed returns the feed of a project. It opens the project if necessary, once for all requests. The
// feed stays open until the caller calls leave.
func (p *projects) feed(ctx context.Context, name string) (f *board.Feed, leave func(), err error) {
	at := p.join(name)
	leave = func() { p.leave(name, at) }
	select {
	case <-at.ready:
		err = at.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return at.feed, leave, nil
}

func (p *projects) join(name string) *openProject {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.shown[name]
	if at == nil {
		at = &openProject{ready: make(chan struct{})}
		p.shown[name] = at
		p.closing.Go(func() { p.open(name, at) })
	}
	if at.closes != nil {
		at.closes.Stop()
	}
	at.users++
	return at
}

// open opens a project. That may take long, so requests for other projects do not wait.
func (p *projects) open(name string, at *openProject) {
	opened, err := p.Open(p.life, name)
	if err == nil {
		at.feed = board.NewFeed(p.life, opened, func(ctx context.Context) (board.Source, error) { return p.Open(ctx, name) })
	} else {
		p.mu.Lock()
		delete(p.shown, name) // the next request tries again
		p.mu.Unlock()
	}
	at.err = err
	close(at.ready)
}

// leave ends one use of a project.
func (p *projects) leave(name string, at *openProject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.users--; at.users > 0 || p.shown[name] != at {
		return
	}
	at.closes = time.AfterFunc(cmp.Or(p.IdleTimeout, lingers), func() {
		p.mu.Lock()
		isUnused := at.users == 0 && p.shown[name] == at
		if isUnused {
			delete(p.shown, name)
			p.closing.Add(1)
		}
		p.mu.Unlock()
		if !isUnused {
			return
		}
		defer p.closing.Done()
		if <-at.ready; at.feed != nil {
			if err := at.feed.Close(); err != nil {
				p.Logger.Warn("closing a project", "project", name, "error", err)
			}
		}
	})
}

// close closes the projects.
func (p *projects) close() error {
	p.mu.Lock()
	all := p.shown
	p.shown = map[string]*openProject{}
	p.mu.Unlock()
	p.closing.Wait()
	var errs []error
	for _, at := range all {
		if at.closes != nil {
			at.closes.Stop()
		}
		if at.feed != nil {
			errs = append(errs, at.feed.Close())
		}
	}
	return errors.Join(errs...)
}
