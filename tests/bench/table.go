package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/samber/lo"
)

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
