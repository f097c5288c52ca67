package project

import (
	"cmp"
	"context"
	"errors"
)

var errDue = errors.New("project: something is due first")

// OnEvent is Together for an f that takes in an event of a host: not where hooks are off
// for the project, and after what is due.
func (p *Project) OnEvent(ctx context.Context, f func(*Project) error) error {
	err := p.onEvent(ctx, f, false)
	if errors.Is(err, errDue) {
		if err = p.Sweep(ctx); err == nil {
			err = p.onEvent(ctx, f, true)
		}
	}
	return err
}

func (p *Project) onEvent(ctx context.Context, f func(*Project) error, swept bool) error {
	return p.Together(ctx, func(p *Project) error {
		if off, err := p.Off(ctx); off || err != nil {
			return err
		}
		if !swept {
			if work, err := p.due(ctx); err != nil || !work.none() {
				return cmp.Or(err, errDue)
			}
		}
		return f(p)
	})
}
