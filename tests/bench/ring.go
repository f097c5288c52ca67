package main

import "context"

// A ring has clients take turns: each takes a step while the others wait, so that whatever
// else the machine does meets all of them alike.
type ring struct {
	ctx    context.Context // when it is done, nobody waits
	places []chan struct{} // by client: it may take a step
}

func newRing(ctx context.Context, clients int) *ring {
	r := &ring{ctx: ctx}
	for range clients {
		r.places = append(r.places, make(chan struct{}, 1))
	}
	r.places[0] <- struct{}{}
	return r
}

// wait waits until it is a client's turn.
func (r *ring) wait(client int) {
	select {
	case <-r.places[client]:
	case <-r.ctx.Done():
	}
}

// pass ends the step of a client that waited before.
func (r *ring) pass(client int) {
	select {
	case r.places[(client+1)%len(r.places)] <- struct{}{}:
	case <-r.ctx.Done():
	}
}
