package storetest

import (
	"context"
	"sync/atomic"

	"flame/project"
)

// Counted is a Store that counts its transactions.
type Counted struct {
	project.Store
	Transactions atomic.Int64
}

// View counts a View.
func (s *Counted) View(ctx context.Context, f func(project.Tx) error) error {
	s.Transactions.Add(1)
	return s.Store.View(ctx, f)
}

// Update counts an Update.
func (s *Counted) Update(ctx context.Context, f func(project.Tx) error) error {
	s.Transactions.Add(1)
	return s.Store.Update(ctx, f)
}

// Run counts a Run.
func (s *Counted) Run(ctx context.Context, f func(project.Tx) error) error {
	s.Transactions.Add(1)
	return s.Store.Run(ctx, f)
}
