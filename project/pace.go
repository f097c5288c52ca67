package project

import (
	"context"
	"time"
)

// Steadily yields at once, and then each time after an interval, until ctx ends.
func Steadily(ctx context.Context, interval time.Duration) func(yield func() bool) {
	return func(yield func() bool) {
		if yield() {
			SteadilyAfter(ctx, interval, interval)(yield)
		}
	}
}

// SteadilyAfter yields after a first pause, and then each time after an interval, until ctx ends. Times
// that pass while the work of the last one lasts count as one.
func SteadilyAfter(ctx context.Context, first, interval time.Duration) func(yield func() bool) {
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
