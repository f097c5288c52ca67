package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

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

// Twice is a Store that runs the function of every Update twice, as after a conflict: it undoes
// the writes of the first run. It reveals a function that changes anything except through its Tx.
type Twice struct {
	project.Store

	// Begin runs before the first run, and its result between the two; nil does nothing. So
	// counted ids can be the same in both.
	Begin func() (between func())
}

var errUndone = errors.New("storetest: the first of two runs")

// Update runs f, undoes its writes, and runs it again for good.
func (s Twice) Update(ctx context.Context, f func(project.Tx) error) error {
	return s.twice(ctx, s.Store.Update, f)
}

// Run is Update for a Run.
func (s Twice) Run(ctx context.Context, f func(project.Tx) error) error {
	return s.twice(ctx, s.Store.Run, f)
}

func (s Twice) twice(ctx context.Context, run func(context.Context, func(project.Tx) error) error, f func(project.Tx) error) error {
	between := func() {}
	if s.Begin != nil {
		between = s.Begin()
	}
	err := run(ctx, func(tx project.Tx) error { return errors.Join(errUndone, f(tx)) })
	if !errors.Is(err, errUndone) {
		return err // f did not run
	}
	between()
	return run(ctx, f)
}

// LockWait returns the inner Store's value; 0 if it has none.
func (s Twice) LockWait() time.Duration {
	waiter, ok := s.Store.(project.WaitMeter)
	if !ok {
		return 0
	}
	return waiter.LockWait()
}
