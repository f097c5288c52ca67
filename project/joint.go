package project

import (
	"context"
	"errors"

	"flame/core"
)

// A joint is the Store of operations that form one transaction together.
type joint struct {
	tx      Tx
	failed  error // of its operations, other than that something is not found
	missing error // what was not found; with either, nothing is kept
	changed bool  // an operation wrote something
	log     []func()
}

// View runs f in the one transaction.
func (j *joint) View(_ context.Context, f func(Tx) error) error { return f(j.tx) }

// Update runs f in the one transaction.
func (j *joint) Update(ctx context.Context, f func(Tx) error) error {
	err := j.Run(ctx, f)
	j.changed = j.changed || err == nil
	return err
}

// Run runs f in the one transaction.
func (j *joint) Run(_ context.Context, f func(Tx) error) error {
	err := f(j.tx)
	if errors.Is(err, core.ErrNotFound) {
		j.missing = errors.Join(j.missing, err)
	} else {
		j.failed = errors.Join(j.failed, err)
	}
	return err
}

var errApart = errors.New("project: this is too much for one transaction")

// Together runs f. The operations of f on the project passed to it form one
// transaction, which only reads until one of them writes. If one of them fails, none of
// them takes effect. Work that is too long for one transaction is done in several; so is
// an f that continues after one of its operations did not find something. f may run
// again, so it acts on that project alone.
func (p *Project) Together(ctx context.Context, f func(*Project) error) error {
	if p.joint != nil {
		return f(p)
	}
	var j *joint
	var result error // what f returned
	err := p.Store.Run(ctx, func(tx Tx) error {
		j = &joint{tx: tx}
		result = f(p.in(j))
		return errors.Join(result, j.failed, j.missing)
	})
	switch {
	case err == nil:
		tell(j.log)
	case errors.Is(err, errApart):
		return f(p)
	case j != nil && result == nil && j.failed == nil && j.missing != nil:
		if j.changed {
			return f(p)
		}
		return nil
	}
	return err
}

// Changed reports whether an operation of the Together that p belongs to has written
// something; outside of one, whether one may have.
func (p *Project) Changed() bool { return p.joint == nil || p.joint.changed }

// in returns p as it works within a joint.
func (p *Project) in(j *joint) *Project {
	inside := *p
	inside.Store, inside.joint = j, j
	return &inside
}
