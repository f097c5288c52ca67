// Package pace repeats work at a steady pace.
package pace

import (
	"context"
	"time"
)

// Now yields at once, and then each time after an interval, until ctx ends.
func Now(ctx context.Context, interval time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		if yield() {
			After(ctx, interval, interval)(yield)
		}
	}
}

// After yields after a first pause, and then each time after an interval, until ctx ends. Times
// that pass while the work of the last one lasts count as one.
func After(ctx context.Context, first, interval time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		tick := time.NewTicker(first)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if first != interval {
					tick.Reset(interval)
					first = interval
				}
				if !yield() {
					return
				}
			}
		}
	}
}
