package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/samber/lo"
)

// A sample has the durations of several runs of one thing.
type sample []time.Duration

// quantile returns the time, in ms, that the share q of the runs did not exceed; 0
// without any.
func (s sample) quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	at := int(math.Ceil(q*float64(len(sorted)))) - 1
	return inMillis(sorted[max(at, 0)])
}

func (s sample) p50() float64   { return s.quantile(0.50) }
func (s sample) p99() float64   { return s.quantile(0.99) }
func (s sample) worst() float64 { return s.quantile(1) }

// beyond returns how much longer each run took than the run of other beside it.
func (s sample) beyond(other sample) (longer sample) {
	for i := range s {
		longer = append(longer, s[i]-other[i])
	}
	return longer
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// check ends the benchmark with a message where flame did not do what is measured.
func check(done bool, format string, args ...any) {
	if !done {
		panic(fmt.Sprintf(format, args...))
	}
}

// interleave runs each of steps so many times and times them. They take turns, so that other load
// on the machine affects all of them alike and their ratios hold.
func interleave(ctx context.Context, runs int, steps ...func(run int)) []sample {
	samples := make([]sample, len(steps))
	for run := range runs {
		for i, step := range steps {
			lo.Must0(ctx.Err())
			start := time.Now()
			step(run)
			samples[i] = append(samples[i], time.Since(start))
		}
	}
	return samples
}
