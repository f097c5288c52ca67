package project

import (
	"context"

	"flame/core"
)

// batchTime is how long one transaction of a longer piece of work lasts. With its commit
// it stays below the 50 ms that others may have to wait (DESIGN §4).
const batchTime = core.Millis(10)

// InBatches runs work on items in short transactions, each complete in itself, and
// passes the result for each item to done once it is durable.
func InBatches[T, R any](ctx context.Context, p *Project, items []T, work func(Tx, T) (R, error), done func(R)) error {
	for len(items) > 0 {
		var results []R
		err := p.Store.Update(ctx, func(tx Tx) error {
			results = nil
			began := p.Now()
			for len(results) < len(items) && (len(results) == 0 || p.Now()-began <= batchTime) {
				result, err := work(tx, items[len(results)])
				if err != nil {
					return err
				}
				results = append(results, result)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if items = items[len(results):]; len(items) > 0 && p.joint != nil {
			return errApart
		}
		for _, result := range results {
			done(result)
		}
	}
	return nil
}

// EachFor runs work on ids in batches on behalf of a caller, and saves the caller's
// session if work changed it.
func (p *Project) EachFor(ctx context.Context, by Caller, ids []string, work func(s *Step, id string) error) error {
	return InBatches(ctx, p, ids, func(tx Tx, id string) (none struct{}, err error) {
		s := p.Step(tx, by)
		if err := s.Enter(); err != nil {
			return none, err
		}
		before := s.Session
		if err := work(s, id); err != nil || s.Session == before {
			return none, err
		}
		return none, s.Tx.SaveSession(s.Session)
	}, func(struct{}) {})
}
