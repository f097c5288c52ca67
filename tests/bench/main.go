// Command bench measures flame's speed and prints a table: each figure beside the
// floor of this machine, in the same run, and the goal. It reports missed goals; the exit status
// says only whether the measurement worked.
//
//	go run ./tests/bench [-quick] [-dir DIR]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "small trees and few repetitions: shows that it works, not how fast flame is")
	dir := flags.String("dir", os.TempDir(), "measure in a new folder in `DIR`, on whose disk all durable writes go")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	size := full
	if *quick {
		size = small
	}
	result, err := measure(ctx, size, *dir, stderr)
	if err != nil {
		return err
	}
	return result.writeTable(stdout)
}
