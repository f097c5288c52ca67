// Command judgement measures flame's judgement: when it would push and pop a frame, against
// labelled moments of sessions (core/testdata/judgement/README.md), and, with --pairs, which
// answers contradict each other (core/testdata/judgement/PAIRS.md).
//
//	go run ./tests/judgement [--pairs] [--json] [FILE]
//
// Without FILE it uses the labelled data of the project, and of moments reports on the half that was
// not used for tuning: that of the ids whose last digit is odd. A case with different labels from a second
// reader does not count.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "judgement:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("judgement", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print one JSON document instead of a table")
	tuned := flags.Bool("tuned", false, "without FILE: report on the half that was tuned on")
	ofPairs := flags.Bool("pairs", false, "measure how answers are compared, instead of when a frame is pushed and popped")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 1 {
		return fmt.Errorf("unexpected argument %q: give one FILE at most", flags.Arg(1))
	}
	measured, name := turns, "turns.jsonl"
	if *ofPairs {
		measured, name = pairs, "pairs.jsonl"
	}
	file, err := open(flags.Arg(0), name)
	if err != nil {
		return err
	}
	defer file.Close()
	which := half(*tuned)
	if flags.NArg() > 0 || *ofPairs {
		which = whole
	}
	return measured(file, which, *asJSON, stdout)
}

// open opens the file that the user gave, or else one of the project's labelled data.
func open(given, name string) (*os.File, error) {
	if given != "" {
		return os.Open(given)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for ; ; dir = filepath.Dir(dir) {
		file, err := os.Open(filepath.Join(dir, "core", "testdata", "judgement", name))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
		if dir == filepath.Dir(dir) {
			return nil, errors.New("there is no core/testdata/judgement here: run it within the project, or give a FILE")
		}
	}
}

// A part of the data is taken by the ids of its cases.
type part func(id string) bool

// whole takes all.
func whole(string) bool { return true }

// half returns the part that was used for tuning, or the other one.
func half(tuned bool) part {
	return func(id string) bool {
		last := id[len(id)-1]
		even := last%2 == 0 // '0' is even; of the letters b, d and f are
		if last > '9' {
			even = !even
		}
		return even == tuned
	}
}
