package project

import (
	"context"
	"time"
)

// Every yields after a first pause, or at once without one, and then each time after an interval,
// until ctx ends. Times that pass while the work of the last one lasts count as one.
func Every(ctx context.Context, first, interval time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		if first == 0 {
			if !yield() {
				return
			}
			first = interval
		}
		tick := time.NewTicker(first)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				tick.Reset(interval)
				if !yield() {
					return
				}
			}
		}
	}
}
