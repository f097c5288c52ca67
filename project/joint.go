package project

import (
	"context"
	"errors"
)

// A joint is the Store of operations that are one transaction together.
type joint struct {
	tx     Tx
	failed error // of an Update: then nothing of the transaction is kept
	log    []func()
}

// View runs f in the one transaction.
func (j *joint) View(_ context.Context, f func(Tx) error) error { return f(j.tx) }

// Update runs f in the one transaction.
func (j *joint) Update(_ context.Context, f func(Tx) error) error {
	err := f(j.tx)
	j.failed = errors.Join(j.failed, err)
	return err
}

// Run runs f in the one transaction.
func (j *joint) Run(ctx context.Context, f func(Tx) error) error { return j.Update(ctx, f) }

var (
	errApart = errors.New("project: this is too much for one transaction")
)

// Together runs f, whose operations on the project that it is given are one
// transaction: a read, as long as none of them writes. Where one of them fails, nothing
// of any is kept, and only that something is not found is f's to put up with. What is
// too much for one is done in several. f may run again, so it acts on that project alone.
func (p *Project) Together(ctx context.Context, f func(*Project) error) error {
	if p.joint != nil {
		return f(p)
	}
	var j *joint
	var told error
	err := p.Store.Run(ctx, func(tx Tx) error {
		j = &joint{tx: tx}
		told = f(p.in(j))
		return errors.Join(told, j.failed)
	})
	switch {
	case errors.Is(err, errApart):
		return f(p)
	case err == nil:
		tell(j.log)
	case j != nil && told == nil && j.failed != nil && IgnoreMissing(j.failed) == nil: // f knows what to do without it
		return nil
	}
	return err
}

// in is p within a joint.
func (p *Project) in(j *joint) *Project {
	inside := *p
	inside.Store, inside.joint = j, j
	return &inside
}
