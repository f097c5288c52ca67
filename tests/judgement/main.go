// Command judgement measures flame's judgement: when it would push and pop a frame, against
// labelled moments of sessions (core/testdata/judgement/README.md), and, with --pairs, which
// answers contradict each other (core/testdata/judgement/PAIRS.md).
//
//	go run ./tests/judgement [--pairs] [FILE]
//
// Without FILE it uses the labelled data of the project, and of moments reports on the half that was
// not used for tuning: that of the ids whose last digit is odd. A case with different labels from a second
// reader does not count.
package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"

	"github.com/samber/lo"
)

func main() {
	tuned := flag.Bool("tuned", false, "without FILE: report on the half that was tuned on")
	ofPairs := flag.Bool("pairs", false, "measure how answers are compared, instead of when a frame is pushed and popped")
	flag.Parse()
	lo.Must0(flag.NArg() <= 1, "give one FILE at most")
	measured, name := turns, "turns.jsonl"
	if *ofPairs {
		measured, name = pairs, "pairs.jsonl"
	}
	file := lo.Must(open(flag.Arg(0), name))
	defer file.Close()
	which := half(*tuned)
	if flag.NArg() > 0 || *ofPairs {
		which = whole
	}
	lo.Must0(measured(file, which, os.Stdout))
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
