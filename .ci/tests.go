// Command tests reads what `go test -json` says and prints what `go test` would: what failed, and a
// line for each package. With -times it adds how long each test took to a file, with -skipped it
// writes the tests that were left out, with their packages:
//
//	go test -json ./... | go run .ci/tests.go -times FILE -skipped FILE
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

// An event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// top is the test that a test is a part of.
func (e event) top() string { return strings.SplitN(e.Test, "/", 2)[0] }

// reports writes to the files that the flags name.
type reports struct{ times, skipped *bufio.Writer }

func main() {
	times := flag.String("times", os.DevNull, "the file to which each test's time is added")
	skipped := flag.String("skipped", os.DevNull, "the file of the tests that were left out")
	flag.Parse()
	if err := run(*times, *skipped); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(times, skipped string) error {
	added, err := os.OpenFile(times, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	left, err := os.Create(skipped)
	if err != nil {
		return err
	}
	r := reports{bufio.NewWriter(added), bufio.NewWriter(left)}
	return errors.Join(r.read(bufio.NewReader(os.Stdin)), r.times.Flush(), r.skipped.Flush(), added.Close(), left.Close())
}

// read prints what failed as soon as that is known. A test that hangs ends with its package.
func (r reports) read(in *bufio.Reader) error {
	said := map[string]map[string][]string{} // by package and test
	lines := json.NewDecoder(in)
	for lines.More() {
		var e event
		if err := lines.Decode(&e); err != nil {
			return err
		}
		if said[e.Package] == nil {
			said[e.Package] = map[string][]string{}
		}
		switch {
		case e.Action == "build-output", e.Action == "output" && e.Test == "" && e.Output != "PASS\n":
			fmt.Print(e.Output)
		case e.Action == "output" && e.Test != "" && !strings.HasPrefix(e.Output, "=== "):
			said[e.Package][e.top()] = append(said[e.Package][e.top()], e.Output)
		case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
			r.ended(e, said[e.Package])
		}
	}
	return nil
}

// ended takes in the end of a test, or of a package.
func (r reports) ended(e event, said map[string][]string) {
	if e.Action == "skip" && e.Test != "" {
		fmt.Fprintln(r.skipped, e.Package, e.top())
	}
	if e.Test == "" {
		for _, text := range said {
			fmt.Print(strings.Join(text, ""))
		}
		clear(said)
	}
	if e.Test != e.top() || e.Test == "" {
		return
	}
	fmt.Fprintf(r.times, "%8.1f s  %s %s\n", e.Elapsed, cmp.Or(e.Package, e.ImportPath), e.Test)
	if e.Action == "fail" {
		fmt.Print(strings.Join(said[e.Test], ""))
	}
	delete(said, e.Test)
}
