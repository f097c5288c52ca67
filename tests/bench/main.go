// Command bench measures flame's speed and prints a table: each figure beside the
// floor of this machine, in the same run, and the goal. It reports missed goals; the exit status
// says only whether the measurement worked.
//
//	go run ./tests/bench [-quick] [-dir DIR]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/local/place"
	"flame/project"
	"flame/store"
	"flame/store/disk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	quick := flag.Bool("quick", false, "small trees and few repetitions: shows that it works, not how fast flame is")
	dir := flag.String("dir", os.TempDir(), "measure in a new folder in `DIR`, on whose disk all durable writes go")
	flag.Parse()
	check(flag.NArg() == 0, "unexpected argument %q", flag.Arg(0))
	size := full
	if *quick {
		size = small
	}
	measure(ctx, size, *dir, os.Stderr).writeTable(os.Stdout)
}

// A scale has the sizes of the trees and the numbers of runs.
type scale struct {
	trees     []int // frames; the smallest first
	compared  int   // frames of the tree with which contexts in the largest are compared
	processes int   // runs of each command
	starts    int   // of a server
	pushes    int   // in a running server, for each tree
	contexts  int   // of different frames, for each tree
	statuses  int
	crowd     int // processes that write at once
	calls     int // of each
	voided    int // frames that are invalidated meanwhile
	requests  int // through a gateway
	rounds    int // of the real client, with each kind of hooks
	turns     int // in each, of each tool
	early     int // the first of these, which do not count: the client is not warm yet
}

var (
	full = scale{
		trees: []int{100, 10_000, 100_000}, compared: 1_000,
		processes: 200, starts: 50, pushes: 1000, contexts: 2000, statuses: 300, crowd: 8, calls: 200, voided: 100_000,
		requests: 1000, rounds: 3, turns: 40, early: 3,
	}
	small = scale{
		trees: []int{100, 200, 400}, compared: 150,
		processes: 3, starts: 2, pushes: 5, contexts: 20, statuses: 5, crowd: 8, calls: 4, voided: 500,
		requests: 20, rounds: 1, turns: 2,
	}
)

// A bench is one run of the benchmark.
type bench struct {
	scale
	dir                string // the folder of all its files
	flame, hello, peak string // programs
	trees              map[int]tree
	tell               func(what string) // on progress
}

// measurements are the parts of the table. Measurements that only read come first.
var measurements = []struct {
	name string
	run  func(*bench, context.Context) []row
}{
	{"package initialisation", (*bench).initialisation},
	{"commands that read", (*bench).reading},
	{"status lines", (*bench).statusLine},
	{"start of the server", (*bench).starting},
	{"contexts", (*bench).contexts},
	{"status", (*bench).status},
	{"hooks", (*bench).hooks},
	{"streams of events", (*bench).streams},
	{"events that a server takes", (*bench).calling},
	{"logs of hosts", (*bench).logs},
	{"writes in a running server", (*bench).pushing},
	{"servers that write at once", (*bench).crowdOfServers},
	{"memory", (*bench).memory},
	{"servers that write beside an invalidation", (*bench).besideInvalidation},
	{"a gateway", (*bench).gateway},
	{"agents", (*bench).spawning},
	{"Claude Code", (*bench).claudeCode},
}

// measure builds programs and trees in a new folder in dir, measures, and removes the folder. It
// reports its steps to progress.
func measure(ctx context.Context, size scale, dir string, progress io.Writer) (result report) {
	dir = lo.Must(os.MkdirTemp(dir, "flame-bench-"))
	defer func() { lo.Must0(os.RemoveAll(dir)) }()
	begun := time.Now()
	tell := func(what string) { fmt.Fprintf(progress, "[bench] %3.0f s: %s\n", time.Since(begun).Seconds(), what) }
	b := &bench{scale: size, dir: dir, trees: map[int]tree{}, tell: tell}

	tell("building")
	b.build(ctx)
	for _, frames := range slices.Concat(size.trees, []int{size.compared}) {
		tell(fmt.Sprintf("planting %d frames", frames))
		b.trees[frames] = plant(ctx, dir, frames)
	}
	tell("floors")
	result.Floors = b.floors(ctx)
	for _, m := range measurements {
		tell(m.name)
		result.Rows = append(result.Rows, m.run(b, ctx)...)
	}
	return result
}

// build builds the programs as releases are built.
func (b *bench) build(ctx context.Context) {
	for pkg, program := range map[string]*string{
		"flame": &b.flame, "flame/tests/bench/hello": &b.hello, "flame/tests/bench/peak": &b.peak,
	} {
		*program = filepath.Join(b.dir, filepath.Base(pkg))
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", *program, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		output(cmd)
	}
}

// largest returns the tree with the most frames.
func (b *bench) largest() tree { return b.trees[b.scale.trees[len(b.scale.trees)-1]] }

// middle returns the tree of the middle size.
func (b *bench) middle() tree { return b.trees[b.scale.trees[len(b.scale.trees)/2]] }

// open opens the project of t in this process, as flame's servers do.
func (t tree) open() (p *project.Project, closing func()) {
	data := t.data()
	log := slog.New(slog.NewJSONHandler(disk.NewLog(data.Path, nil), nil))
	kept := store.Open(data.Path, store.Options{LongLived: true, Logger: log, Ready: data.Ready})
	return &project.Project{
		Store: kept, Dir: t.dir, Now: func() core.Millis { return core.MillisOf(time.Now()) }, NewID: project.NewID, Log: log,
		Budget: core.DefaultBudget(), Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(), EventDays: 90,
	}, func() { lo.Must0(kept.Close()) }
}

// data returns the folder of t's data; the folder above t is home.
func (t tree) data() *place.Folder {
	noGit := func(context.Context, string) (string, error) { return "", nil }
	return place.FolderOf(place.At(t.dir), place.Env{Home: filepath.Dir(t.dir)}, noGit)
}

// caller is the session at work in t.
func (t tree) caller() project.Caller {
	return project.Caller{Session: t.session, Host: project.CommandLine}
}

// frame returns the id of a frame; neighbouring numbers give distant frames.
func (t tree) frame(n int) string { return t.ids[n*7919%len(t.ids)] }
