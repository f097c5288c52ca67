package turns

import (
	"cmp"
	"context"
	"errors"

	"flame/project"
	"flame/project/sweep"
)

var errDue = errors.New("turns: something is due first")

// OnEvent is Together for an f that handles an event of a host. It does nothing if hooks
// are off for the project, and first does the work that is due.
func OnEvent(ctx context.Context, p *project.Project, f func(*project.Project) error) error {
	err := onEvent(ctx, p, f, false)
	if errors.Is(err, errDue) {
		if err = sweep.Once(ctx, p); err == nil {
			err = onEvent(ctx, p, f, true)
		}
	}
	return err
}

func onEvent(ctx context.Context, p *project.Project, f func(*project.Project) error, swept bool) error {
	return p.Together(ctx, func(p *project.Project) error {
		if off, err := p.Off(ctx); off || err != nil {
			return err
		}
		if !swept {
			if work, err := sweep.Due(ctx, p); err != nil || !work.Empty() {
				return cmp.Or(err, errDue)
			}
		}
		return f(p)
	})
}
