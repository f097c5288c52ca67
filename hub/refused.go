package hub

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// refusedTime is how long a refusal may be the reason of a request that was not answered.
const refusedTime = time.Minute

// refusals are what a server refused. It does not answer what it refuses, but says so
// beside, so that whoever asked would wait in vain.
type refusals struct {
	mu      sync.Mutex
	text    string
	at      time.Time
	waiting map[*waiter]bool
}

// A waiter waits for the answer to what it sent to subjects that begin so.
type waiter struct {
	subjects string
	stop     context.CancelFunc
}

// add notes a refusal, and ends those who wait in vain because of it.
func (r *refusals) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text, r.at = text, time.Now()
	for w := range r.waiting {
		if strings.Contains(text, w.subjects) {
			w.stop()
		}
	}
}

// latest returns a refusal of late; empty if there is none.
func (r *refusals) latest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) > refusedTime {
		return ""
	}
	return r.text
}

// watch returns a context that ends when the server refuses a message to subjects that
// begin so.
func (r *refusals) watch(ctx context.Context, subjects string) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	w := &waiter{subjects, stop}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[*waiter]bool{}
	}
	r.waiting[w] = true
	return ctx, func() {
		stop()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, w)
	}
}

// IsMismatch reports whether a value was not written because what it replaces has changed.
func IsMismatch(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
