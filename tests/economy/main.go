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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/samber/lo"

	"flame/tests/economy/work"
	"flame/tests/tokens"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "economy:", err)
		os.Exit(1)
	}
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

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("economy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.pieces, "frames", work.Pieces, "do the first `N` pieces of the work; 6 show that it works")
	flags.StringVar(&o.host, "host", "", "measure `HOST` alone: opencode, claude-code, codex or gemini")
	flags.StringVar(&o.only, "only", "", "measure the variants of these names, separated by commas")
	flags.StringVar(&o.flame, "flame", "", "measure the program `FILE` instead of building one")
	flags.BoolVar(&o.check, "check", false, "fail where a goal is missed that is met otherwise")
	flags.BoolVar(&o.facts, "facts", false, "measure what is left of forty facts, instead of what requests cost")
	flags.BoolVar(&o.others, "others", false, "with -facts: forty facts in other words than those that flame was made with")
	flags.BoolVar(&o.write, "write", false, "write the measured rows into docs/economy.md")
	flags.BoolVar(&o.chart, "chart", false, "only draw docs/savings.svg again, from the rows of docs/economy.md")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.chart {
		return drawChart("docs/economy.md")
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.facts || o.others {
		found, err := measureAll(ctx, o, stderr, keepers, bench.keep)
		writeKept(stdout, found, "")
		err = errors.Join(err, moreRejected(found))
		if err == nil && o.write {
			err = rewrite("docs/economy.md", lo.Ternary(o.others, beginOthers, beginKept), func(w io.Writer, before string) { writeKept(w, found, before) })
		}
		return err
	}
	found, err := measureAll(ctx, o, stderr, variants, bench.measure)
	if err != nil {
		return err
	}
	return results(found).report(o, stdout)
}

func measureAll[T any](
	ctx context.Context, o options, log io.Writer, variants []variant, measure func(bench, context.Context, variant) (T, error),
) ([]T, error) {
	if o.flame == "" {
		dir, err := os.MkdirTemp("", "flame-economy-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		o.flame = filepath.Join(dir, "flame")
		if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", o.flame, ".").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	counter, err := tokens.New()
	if err != nil {
		return nil, err
	}
	b := bench{flame: o.flame, pieces: o.pieces, counter: counter, log: log, facts: lo.Ternary(o.others, work.Others, work.Facts)}
	var found []T
	for _, v := range variants {
		if !o.wants(v) {
			continue
		}
		one, err := measure(b, ctx, v)
		if err != nil {
			return found, fmt.Errorf("%s, %s: %w", v.host, v.name, err)
		}
		fmt.Fprintf(log, "%s, %s: %v\n", v.host, v.name, one)
		found = append(found, one)
	}
	return found, nil
}

func (o options) wants(v variant) bool {
	named := o.only == ""
	for name := range strings.SplitSeq(o.only, ",") {
		named = named || name == v.name
	}
	return named && (o.host == "" || o.host == v.host)
}

func (r results) report(o options, stdout io.Writer) error {
	r.write(stdout, "")
	broken := r.judge(stdout, o.pieces)
	if o.write {
		if err := errors.Join(r.writeInto("docs/economy.md"), drawChart("docs/economy.md")); err != nil {
			return err
		}
	}
	if o.check && len(broken) > 0 {
		return fmt.Errorf("missed: %s", strings.Join(broken, "; "))
	}
	return nil
}

// Markers of the generated part of the document.
const (
	begin     = "<!-- measured: go run ./tests/economy -write -->\n"
	beginKept = "<!-- measured: go run ./tests/economy -facts -write -->\n"
	end       = "<!-- end -->"

	beginOthers = "<!-- measured: go run ./tests/economy -facts -others -write -->\n"
)

// writeInto writes the rows that were measured into the tables of a document.
func (r results) writeInto(file string) error { return rewrite(file, begin, r.write) }

// rewrite has write replace the generated part of a document behind a marker.
func rewrite(file, begin string, write func(w io.Writer, before string)) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	known, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s has no place for the tables", file)
	}
	var tables strings.Builder
	write(&tables, known)
	return os.WriteFile(file, []byte(before+begin+tables.String()+end+after), 0o644)
}
