package projecttest

import (
	"context"

	"flame/core"
	"flame/project"
)

// Slow makes every transaction do as little as it can, and calls after in between.
func (f *Fixture) Slow(after func()) {
	f.Now = func() core.Millis { f.Clock += 100; return f.Clock }
	f.Store = &Between{f.Store, after}
}

// Between is a Store that calls After after each Update.
type Between struct {
	project.Store
	After func()
}

// Update runs f, and After if that succeeded.
func (b *Between) Update(ctx context.Context, f func(project.Tx) error) error {
	err := b.Store.Update(ctx, f)
	if err == nil && b.After != nil {
		b.After()
	}
	return err
}
