// Command peak runs a command with its own stdin, stdout and stderr and then writes the command's
// peak resident memory, in bytes, into a file.
//
// It exists because it is small: a child's peak begins with the size of its parent, so the
// benchmark cannot measure it itself.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peak:", err)
		os.Exit(1)
	}
}

// run takes the file, the path of the command and its arguments.
func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: peak FILE COMMAND [ARGUMENT...]")
	}
	child, err := os.StartProcess(args[1], args[1:], &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return err
	}
	state, err := child.Wait()
	if err != nil {
		return err
	}
	if !state.Success() {
		return fmt.Errorf("%s: %s", args[1], state)
	}
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return fmt.Errorf("%s does not tell how much memory a process had", runtime.GOOS)
	}
	return os.WriteFile(args[0], strconv.AppendInt(nil, usage.Maxrss*maxrssUnit(), 10), 0o600)
}

// maxrssUnit returns the unit of Rusage.Maxrss, in bytes (getrusage(2)).
func maxrssUnit() int64 {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1024
}
