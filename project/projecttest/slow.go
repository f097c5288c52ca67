package projecttest

import (
	"context"

	"flame/core"
	"flame/project"
)

// Slow lets no transaction do more than it must, and calls after in between.
func (f *Fixture) Slow(after func()) {
	f.Now = func() core.Millis { f.Clock += 100; return f.Clock }
	f.Store = &Between{f.Store, after}
}

// Between is a Store that lets something happen after each Update.
type Between struct {
	project.Store
	After func() // each Update
}

// Update runs f, and After where that was kept.
func (b *Between) Update(ctx context.Context, f func(project.Tx) error) error {
	err := b.Store.Update(ctx, f)
	if err == nil && b.After != nil {
		b.After()
	}
	return err
}
