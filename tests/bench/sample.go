package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/tabwriter"
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

// A syncer measures the minimal cost of a durable write: 4 KB written and synced. Like SQLite's
// write-ahead log its file grows at first and is then overwritten from the start.
type syncer struct {
	file *os.File
	page [4096]byte
}

// syncerPages is the length at which the write-ahead log of a running server restarts.
const syncerPages = 1000

func newSyncer(dir string) *syncer {
	return &syncer{file: lo.Must(os.Create(filepath.Join(dir, "floor")))}
}

func (s *syncer) sync(run int) {
	lo.Must(s.file.WriteAt(s.page[:], int64(run%syncerPages*len(s.page))))
	lo.Must0(s.file.Sync())
}

// floors measures the two floors beside each other.
func (b *bench) floors(ctx context.Context) (found floors) {
	disk := newSyncer(b.dir)
	defer disk.close()
	samples := interleave(ctx, b.processes, func(int) { b.greet(ctx) }, disk.sync)
	return floors{Hello: samples[0].p50(), SyncP50: samples[1].p50(), SyncP99: samples[1].p99()}
}

// greet runs the floor of processes.
func (b *bench) greet(ctx context.Context) {
	output(exec.CommandContext(ctx, b.hello))
}

func (s *syncer) close() { lo.Must0(s.file.Close()) }

// A report is the result of one run.
type report struct {
	Floors floors
	Rows   []row
}

// floors are the minimal costs of processes and durable writes on this machine, in ms. Rows have
// floors of their own, measured at the same time as their figures.
type floors struct {
	Hello   float64 // a Go hello-world process, p50
	SyncP50 float64 // 4 KB written and synced
	SyncP99 float64
}

// A row is one line of the table: a figure, its floor and its goal.
type row struct {
	What   string
	Frames int     // in the tree
	Unit   string  // of floor, figure and limit
	Floor  float64 // the minimum on this machine; 0: none
	Figure float64
	Ratio  float64 // figure / floor; 0 without a floor
	Goal   string  // empty: none, the figure is for information
	Limit  float64 // the goal as a number
	Met    bool
}

// Units of figures.
const (
	unitMS     = "ms"
	unitMB     = "MB" // 10^6 bytes
	unitBytes  = "bytes"
	unitWrites = "writes"
)

// A goal bounds a figure: by so many times its floor, and plus so much.
type goal struct{ times, plus float64 }

// against makes a row of a figure, its floor (0: none) and its goal.
func (g goal) against(what string, frames int, unit string, figure, floor float64) row {
	r := row{What: what, Frames: frames, Unit: unit, Floor: floor, Figure: figure, Limit: g.times*floor + g.plus}
	if floor > 0 {
		r.Ratio = figure / floor
	}
	switch {
	case g.times == 0:
		r.Goal = fmt.Sprintf("<= %g %s", g.plus, unit)
	case g.plus == 0:
		r.Goal = fmt.Sprintf("<= %g x", g.times)
	default:
		r.Goal = fmt.Sprintf("<= %g x + %g %s", g.times, g.plus, unit)
	}
	r.Met = figure <= r.Limit
	return r
}

// told returns a row of a figure without a goal.
func told(what string, unit string, figure float64) row {
	return row{What: what, Unit: unit, Figure: figure}
}

func (r report) writeTable(w io.Writer) {
	fmt.Fprintf(w, "floors: Go hello-world process %.2f ms p50; 4 KB synced %.2f ms p50, %.2f ms p99\n\n",
		r.Floors.Hello, r.Floors.SyncP50, r.Floors.SyncP99)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "what\tframes\tfloor\tfigure\tratio\tgoal\tmet")
	goals, missed := 0, 0
	for _, line := range r.Rows {
		floor, ratio, wanted, verdict := "-", "-", "-", "-"
		if line.Floor > 0 {
			floor, ratio = amount(line.Floor, line.Unit), fmt.Sprintf("%.2f x", line.Ratio)
		}
		if line.Goal != "" {
			goals++
			wanted, verdict = line.Goal, "yes"
		}
		if line.Goal != "" && !line.Met {
			verdict = "NO"
			missed++
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", line.What, line.Frames, floor, amount(line.Figure, line.Unit), ratio, wanted, verdict)
	}
	lo.Must0(table.Flush())
	fmt.Fprintf(w, "\n%d of %d goals met\n", goals-missed, goals)
}

// amount prints a figure; bytes and writes are whole numbers.
func amount(figure float64, unit string) string {
	if unit == unitBytes || unit == unitWrites {
		return fmt.Sprintf("%.0f %s", figure, unit)
	}
	return fmt.Sprintf("%.2f %s", figure, unit)
}
