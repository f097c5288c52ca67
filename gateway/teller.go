package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"flame/core"
	"flame/core/fold"
	"flame/project"
	"flame/project/conversation"
	"flame/project/turns"
	"flame/project/usage"
)

// A Metered is what one request came to.
type Metered = usage.Request

// A telling is what is to be stored of a request.
type telling struct {
	by      project.Caller
	metered Metered
	answer  *conversation.Answer // nil: nothing is to be noted of it
	sent    fold.Meter
}

// A teller stores what was measured, in order, while no request waits for that.
type teller struct {
	g     *Gateway
	ready chan struct{}
	ended chan struct{}
	stop  context.CancelFunc

	mu    sync.Mutex
	queue []telling
}

const (
	maxQueue     = 10_000          // tellings; more are lost
	tellIn       = 2 * time.Second // that the store has for one batch
	leastPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second  // between two tries
	lastTry      = 5 * time.Second  // to store what is left at the end
	toldIn       = 30 * time.Second // that others have to tell of a session
)

func newTeller(g *Gateway) *teller {
	ctx, stop := context.WithCancel(context.Background())
	t := &teller{g: g, ready: make(chan struct{}, 1), ended: make(chan struct{}), stop: stop}
	go t.run(ctx)
	return t
}

func (t *teller) tell(one telling) {
	t.mu.Lock()
	if t.g.Metered != nil {
		t.g.Metered(one.metered)
	}
	if len(t.queue) < maxQueue {
		t.queue = append(t.queue, one)
	} else {
		t.g.Log.Error("what a request used is not stored: the store has been out of reach for long")
	}
	t.mu.Unlock()
	select {
	case t.ready <- struct{}{}:
	default: // it knows
	}
}

// close stores what is left, if that can be done soon.
func (t *teller) close() {
	t.stop()
	<-t.ended
}

func (t *teller) run(ctx context.Context) {
	defer close(t.ended)
	tick := time.NewTicker(toldIn)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-t.ready:
		case <-tick.C:
		case <-ctx.Done():
		}
		for pause := leastPause; ctx.Err() == nil && !t.store(ctx, turns.Answered); pause = min(2*pause, longestPause) {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTry)
	defer cancel()
	_ = t.store(last, turns.Answered) && t.store(last, turns.AnsweredLate)
}

// store stores what is there, and reports whether the store could be had. What belongs to
// sessions that nobody has told of stays for the next time, unless it has waited for long:
// flame may not be set up in the host.
func (t *teller) store(ctx context.Context, how func(context.Context, *project.Project, project.Caller, turns.Report) error) bool {
	for _, batch := range t.batches() {
		soon, cancel := context.WithTimeout(ctx, tellIn)
		err := how(soon, t.g.Project, batch[0].by, reportOf(batch))
		if errors.Is(err, core.ErrNotFound) && t.waited(batch[0]) {
			err = turns.AnsweredLate(soon, t.g.Project, batch[0].by, reportOf(batch))
		}
		cancel()
		switch {
		case errors.Is(err, core.ErrNotFound):
		case err != nil:
			t.g.Log.Warn("what requests used is not stored yet", "error", err)
			return false
		default:
			t.done(batch)
		}
	}
	return true
}

// waited reports whether nobody has told of a session in time.
func (t *teller) waited(one telling) bool {
	return t.g.Project.Now()-one.metered.Asked-one.metered.Took >= core.Millis(toldIn.Milliseconds())
}

// batches returns what there is to tell, by callers.
func (t *teller) batches() (batches [][]telling) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := map[project.Caller]int{}
	for _, one := range t.queue {
		i, known := at[one.by]
		if !known {
			i, batches = len(batches), append(batches, nil)
			at[one.by] = i
		}
		batches[i] = append(batches[i], one)
	}
	return batches
}

// done takes the oldest tellings of a caller, which are stored, out of the queue.
func (t *teller) done(batch []telling) {
	t.mu.Lock()
	defer t.mu.Unlock()
	left, by := len(batch), batch[0].by
	t.queue = slices.DeleteFunc(t.queue, func(one telling) bool {
		if one.by != by || left == 0 {
			return false
		}
		left--
		return true
	})
}

func reportOf(batch []telling) (r turns.Report) {
	for _, one := range batch {
		r.Requests, r.Sent = append(r.Requests, one.metered), r.Sent.Add(one.sent)
		if one.answer != nil {
			r.Seen = append(r.Seen, *one.answer)
		}
	}
	return r
}
