package store

import (
	"cmp"
	"context"
	"errors"

	"flame/project"
	"flame/store/trouble"
)

// A tx is a project.Tx.
type tx struct {
	sql   *statements
	older bool     // the file has no table of cascades
	voids *voiding // what is known of cascades; nil until asked for
}

// Context returns the context of the transaction. A View or Update with it is
// nested, and refused.
func (t *tx) Context() context.Context { return t.sql.ctx }

// call runs f in t and returns the reason not to commit, if any.
func call(t *tx, f func(project.Tx) error) error {
	err := f(t)
	if errors.Is(t.sql.failed, errWrites) {
		return errWrites // whatever f made of it
	}
	if err == nil {
		err = cmp.Or(t.sql.failed, t.sql.ctx.Err())
	}
	if err != nil {
		return trouble.Callers{Err: err}
	}
	return nil
}
