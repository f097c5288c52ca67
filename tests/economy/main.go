// Command economy measures the requests of the real clients during a long piece of work, with and
// without flame: tokens, their cost, and how much of the work is still in the last request. The
// scripted model enforces the rules of the API (package rules) and makes the same calls in every
// variant.
//
//	go run ./tests/economy [-frames N] [-host HOST] [-only VARIANT] [-check] [-write] [-chart]
//	go run ./tests/economy -facts [-others] [-host HOST] [-only VARIANT] [-write]
//
// The second form measures what is left of forty facts of a shorter work (work.Facts, or work.Others).
//
// It needs the clients (see CONTRIBUTING.md) and about ten minutes for each variant.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/samber/lo"

	"flame/tests/economy/work"
	"flame/tests/tokens"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var o options
	flag.IntVar(&o.pieces, "frames", work.Pieces, "do the first `N` pieces of the work; 6 show that it works")
	flag.StringVar(&o.host, "host", "", "measure `HOST` alone: opencode, claude-code, codex or gemini")
	flag.StringVar(&o.only, "only", "", "measure the variants of these names, separated by commas")
	flag.StringVar(&o.flame, "flame", "", "measure the program `FILE` instead of building one")
	flag.BoolVar(&o.check, "check", false, "fail where a goal is missed that is met otherwise")
	flag.BoolVar(&o.facts, "facts", false, "measure what is left of forty facts, instead of what requests cost")
	flag.BoolVar(&o.others, "others", false, "with -facts: forty facts in other words than those that flame was made with")
	flag.BoolVar(&o.write, "write", false, "write the measured rows into docs/economy.md")
	flag.BoolVar(&o.chart, "chart", false, "only draw docs/savings.svg again, from the rows of docs/economy.md")
	flag.Parse()
	lo.Must0(flag.NArg() == 0, "unexpected argument %q", flag.Arg(0))
	run(ctx, o)
}

// options are the values of the flags.
type options struct {
	pieces       int
	host, only   string
	flame        string
	check, write bool
	chart, facts bool
	others       bool
}

func run(ctx context.Context, o options) {
	switch {
	case o.chart:
		drawChart("docs/economy.md")
	case o.facts || o.others:
		found := measureAll(ctx, o, keepers, bench.keep)
		writeKept(os.Stdout, found, "")
		lo.Must0(moreRejected(found))
		if o.write {
			rewrite("docs/economy.md", lo.Ternary(o.others, beginOthers, beginKept), func(w io.Writer, before string) { writeKept(w, found, before) })
		}
	default:
		results(measureAll(ctx, o, variants, bench.measure)).report(o)
	}
}

func measureAll[T any](ctx context.Context, o options, variants []variant, measure func(bench, context.Context, variant) T) (found []T) {
	if o.flame == "" {
		dir := lo.Must(os.MkdirTemp("", "flame-economy-"))
		defer os.RemoveAll(dir)
		o.flame = filepath.Join(dir, "flame")
		out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.flame, ".").CombinedOutput()
		lo.Must0(err, string(out))
	}
	b := bench{flame: o.flame, pieces: o.pieces, counter: lo.Must(tokens.New()), log: os.Stderr, facts: lo.Ternary(o.others, work.Others, work.Facts)}
	for _, v := range variants {
		if o.wants(v) {
			fmt.Fprintf(b.log, "%s, %s\n", v.host, v.name)
			found = append(found, measure(b, ctx, v))
			fmt.Fprintf(b.log, "%v\n", found[len(found)-1])
		}
	}
	return found
}

func (o options) wants(v variant) bool {
	return (o.only == "" || slices.Contains(strings.Split(o.only, ","), v.name)) && (o.host == "" || o.host == v.host)
}

func (r results) report(o options) {
	r.write(os.Stdout, "")
	broken := r.judge(os.Stdout, o.pieces)
	if o.write {
		rewrite("docs/economy.md", begin, r.write)
		drawChart("docs/economy.md")
	}
	lo.Must0(!o.check || len(broken) == 0, "missed: %s", strings.Join(broken, "; "))
}

// Markers of the generated part of the document.
const (
	begin     = "<!-- measured: go run ./tests/economy -write -->\n"
	beginKept = "<!-- measured: go run ./tests/economy -facts -write -->\n"
	end       = "<!-- end -->"

	beginOthers = "<!-- measured: go run ./tests/economy -facts -others -write -->\n"
)

// rewrite has write replace the generated part of a document behind a marker.
func rewrite(file, begin string, write func(w io.Writer, before string)) {
	before, rest, ok := strings.Cut(string(lo.Must(os.ReadFile(file))), begin)
	known, after, ended := strings.Cut(rest, end)
	lo.Must0(ok && ended, file+" has no place for the tables")
	var tables strings.Builder
	write(&tables, known)
	lo.Must0(os.WriteFile(file, []byte(before+begin+tables.String()+end+after), 0o644))
}
