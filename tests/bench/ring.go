package main

import (
	"context"
	"math/rand/v2"
)

// A ring has clients take turns: each takes a step while the others wait, so that other load on
// the machine affects all of them alike. The order changes from round to round, because a client
// may still work after its step, during the next one's.
type ring struct {
	ctx    context.Context // when it is done, all waits end
	places []chan struct{} // by client: it may take a step
	order  []int           // of the clients that have not taken a step in this round
	random *rand.Rand
}

func newRing(ctx context.Context, clients int) *ring {
	r := &ring{ctx: ctx, random: rand.New(rand.NewPCG(1, uint64(clients)))}
	for range clients {
		r.places = append(r.places, make(chan struct{}, 1))
	}
	r.pass()
	return r
}

// wait waits until it is a client's turn.
func (r *ring) wait(client int) {
	select {
	case <-r.places[client]:
	case <-r.ctx.Done():
	}
}

// pass ends the step of the client that waited last.
func (r *ring) pass() {
	if len(r.order) == 0 {
		r.order = r.random.Perm(len(r.places))
	}
	next := r.order[0]
	r.order = r.order[1:]
	select {
	case r.places[next] <- struct{}{}:
	case <-r.ctx.Done():
	}
}
