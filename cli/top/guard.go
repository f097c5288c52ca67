package top

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// endTime is how long a screen may take to end: a screen that waits for its terminal may not
// notice the signal.
const endTime = 2 * time.Second

// aliveFD is the file by which a guarded process sees that its guard is alive.
const aliveFD = 3

// Guard runs a process that shows a screen, and then restores the terminal: after a SIGKILL, or a
// panic on any goroutine, only another process can do that. Afterwards Guard writes the stderr of
// the screen's process, and returns its exit status, or 128 plus the signal's number if a signal
// ended it.
func Guard(ctx context.Context, screen *exec.Cmd, terminal *os.File, stderr io.Writer) (status int, err error) {
	was, err := term.GetState(int(terminal.Fd()))
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	alive, held, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer held.Close()
	var said bytes.Buffer
	screen.Stderr, screen.ExtraFiles, screen.WaitDelay = &said, []*os.File{alive}, endTime
	err = screen.Start()
	alive.Close()
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- screen.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		held.Close() // not a signal: a second signal would end it at once
		select {
		case err = <-ended:
		case <-time.After(endTime):
			_ = screen.Process.Kill()
			err = <-ended
		}
	}
	restore(terminal, was)
	_, _ = stderr.Write(said.Bytes())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	ending := screen.ProcessState.Sys().(syscall.WaitStatus)
	if ending.Signaled() {
		return 128 + int(ending.Signal()), nil
	}
	return ending.ExitStatus(), nil
}

// restore restores a terminal if the screen did not.
func restore(terminal *os.File, was *term.State) {
	fd := int(terminal.Fd())
	now, err := term.GetState(fd)
	if err != nil || reflect.DeepEqual(now, was) {
		return
	}
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != syscall.Getpgrp() {
		return // another process has it by now
	}
	_, _ = terminal.WriteString(giveBack)
	_ = term.Restore(fd, was)
}

// Guarded returns a context that ends when the guard of this process does.
func Guarded(ctx context.Context) context.Context {
	ctx, stop := context.WithCancel(ctx)
	syscall.CloseOnExec(aliveFD)
	alive := os.NewFile(aliveFD, "guard")
	go func() {
		_, _ = alive.Read(make([]byte, 1)) // it never sends anything
		stop()
	}()
	return ctx
}
