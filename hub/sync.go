package hub

import (
	"context"
	"errors"

	"flame/core/merge"
)

// Run brings to the hub what was done here, and takes in what others did, until ctx ends or
// the connection is lost. It begins with all that either has: nothing is kept of an earlier
// connection, for the hub may have lost its data meanwhile.
func (s *Syncer) Run(ctx context.Context, c *Conn) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-c.Gone():
			stop(errGone)
		case <-ctx.Done():
		}
	}()
	if s.whole == nil {
		s.whole, s.told = map[string]merge.Work{}, map[string]bool{}
	}
	for {
		err := s.round(ctx, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, errAnew) {
			return err
		}
	}
}

// round reads the hub's whole tree and follows it from there.
func (s *Syncer) round(ctx context.Context, c *Conn) (err error) {
	t, err := c.tree(ctx)
	if err != nil {
		return err
	}
	r := &round{Syncer: s, tree: t, at: map[string]slot{}, unused: map[string]bool{}}
	s.change(func(p *Progress) { *p = Progress{Taken: p.Taken, Sent: p.Sent} })
	if err := r.findCut(ctx); err != nil {
		return err
	}
	w, err := t.kv.WatchAll(ctx)
	if err != nil {
		return c.Told(err)
	}
	defer func() { _ = w.Stop() }() // with the connection lost, it has ended by itself
	if err := r.fill(ctx, w); err != nil {
		return err
	}
	s.change(func(p *Progress) { p.Complete = true })
	return r.follow(ctx, w)
}
