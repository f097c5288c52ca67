// Command bench measures flame's speed and prints a table: each figure beside the
// floor of this machine, in the same run, and the goal. It reports missed goals; the exit status
// says only whether the measurement worked.
//
//	go run ./tests/bench [-quick] [-dir DIR]
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
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
