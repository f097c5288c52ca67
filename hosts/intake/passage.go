package intake

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"flame/core"
	"flame/project"
)

// A passage is a Store for the transactions of one event. After the event is abandoned, none of
// them commits. While earlier events wait in the inbox, it is read-only.
type passage struct {
	project.Store
	state *passing
}

// A passing is the state of a passage.
type passing struct {
	behind  bool        // earlier events wait in the inbox
	touched atomic.Bool // the store was used although earlier events wait

	mu      sync.Mutex
	commits int // transactions that are committing
	over    bool
}

var (
	errGivenUp  = core.Unavailablef(nil, "the event was abandoned before it could be stored")
	errNotFirst = errors.New("earlier events wait in the inbox")
)

func (p passage) View(ctx context.Context, f func(project.Tx) error) error {
	p.state.touch()
	return p.Store.View(ctx, f)
}

func (p passage) Update(ctx context.Context, f func(project.Tx) error) error {
	if p.state.touch() {
		return errNotFirst
	}
	return p.pass(ctx, p.Store.Update, f)
}

func (p passage) Run(ctx context.Context, f func(project.Tx) error) error {
	if p.state.touch() {
		return p.Store.View(ctx, f)
	}
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

// touch notes that the store is used, and reports whether earlier events wait.
func (s *passing) touch() (behind bool) {
	if s.behind {
		s.touched.Store(true)
	}
	return s.behind
}

func (s *passing) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.commits++
	return true
}

func (s *passing) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits--
}

// giveUp lets no transaction commit from now on, and reports whether one is committing
// already: only its end tells whether it is kept.
func (s *passing) giveUp() (commits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.commits > 0
}
