package intake

import (
	"context"
	"sync"

	"flame/core"
	"flame/project"
)

// A passage is a Store for the transactions of one event, which can be given up: none of
// them commits after that.
type passage struct {
	project.Store
	state *passing
}

// A passing is the state of a passage.
type passing struct {
	sync.Mutex
	commits int // transactions that are committing
	over    bool
}

var errGivenUp = core.Unavailablef(nil, "the event was given up before it could be kept")

func (p passage) Update(ctx context.Context, f func(project.Tx) error) error {
	return p.pass(ctx, p.Store.Update, f)
}

func (p passage) Run(ctx context.Context, f func(project.Tx) error) error {
	return p.pass(ctx, p.Store.Run, f)
}

// pass runs f in a transaction, which commits unless the event is given up before.
func (p passage) pass(ctx context.Context, run func(context.Context, func(project.Tx) error) error, f func(project.Tx) error) error {
	commits := false
	defer func() {
		if commits {
			p.state.end()
		}
	}()
	return run(ctx, func(tx project.Tx) error {
		err := f(tx)
		if err == nil && !commits {
			if commits = p.state.begin(); !commits {
				return errGivenUp
			}
		}
		return err
	})
}

func (s *passing) begin() bool {
	s.Lock()
	defer s.Unlock()
	if s.over {
		return false
	}
	s.commits++
	return true
}

func (s *passing) end() {
	s.Lock()
	defer s.Unlock()
	s.commits--
}

// giveUp lets no transaction commit from now on, and reports whether one is committing
// already: only its end tells whether it is kept.
func (s *passing) giveUp() (commits bool) {
	s.Lock()
	defer s.Unlock()
	s.over = true
	return s.commits > 0
}
