package wrap

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// An ExitStatus is how a program ended.
type ExitStatus struct {
	Status int            // its exit status; 128 and the signal's number if a signal ended it
	Signal syscall.Signal // 0 if it exited
}

// A relay gives a program the signals that only this process got, and has this process
// stop when the program does, so that a shell sees one job.
type relay struct {
	signals chan os.Signal
}

// Signals that this process passes on, and signals of a terminal, which the program gets itself:
// both are in the foreground of the shell. A stop signal of the terminal must not stop this
// process before the program, or `fg` would stop it again.
var (
	passed = []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	typed  = []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
	jobs   = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT}
)

// ending are the signals with which a person ends this process once its program has ended.
var ending = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// listen starts to catch signals until this process ends: a signal after the end of the program
// would only interrupt the cleanup. Signals that this process ignored from its start stay ignored,
// in the program too.
func listen() *relay {
	r := &relay{signals: make(chan os.Signal, 16)}
	for _, s := range slices.Concat(passed, typed, jobs) {
		if !signal.Ignored(s) {
			signal.Notify(r.signals, s)
		}
	}
	return r
}

// until waits until something is over, or a signal ends this process.
func (r *relay) until(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case s := <-r.signals:
			if slices.Contains(ending, s) {
				return
			}
		}
	}
}

// wait relays signals to a program until it is over. Nothing else may wait for it.
func (r *relay) wait(program *os.Process) (ExitStatus, error) {
	over := make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() { r.pass(program, over) })
	defer passing.Wait()
	defer close(over)
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(program.Pid, &status, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return ExitStatus{}, os.NewSyscallError("wait4", err)
		case status.Stopped():
			stop()
		case status.Signaled():
			return ExitStatus{Status: 128 + int(status.Signal()), Signal: syscall.Signal(status.Signal())}, nil
		default:
			return ExitStatus{Status: status.ExitStatus()}, nil
		}
	}
}

// pass sends the program what is for it alone, until it is over.
func (r *relay) pass(program *os.Process, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case s := <-r.signals:
			if slices.Contains(typed, s) && inForeground() || slices.Contains(jobs, s) && hasTerminal() {
				continue // it has it already; a late SIGCONT would undo the next Ctrl-Z
			}
			_ = program.Signal(s) // it may be over; another process of its number does not get it
		}
	}
}

// stop stops this process as its program is, if there is a shell that can continue both.
func stop() {
	if hasTerminal() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// hasTerminal reports whether this process has a terminal that controls it.
func hasTerminal() bool { return foreground() > 0 }

// inForeground reports whether what is typed there is for this process's group.
func inForeground() bool { return foreground() == syscall.Getpgrp() }

// foreground returns the group that what is typed at the terminal is for; 0 without a
// terminal.
func foreground() int {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// DieBySignal ends this process by the signal that ended its program, so that a shell sees the
// same; it returns if that signal would do more than end it.
func DieBySignal(by syscall.Signal) {
	switch by {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL:
		signal.Reset(by)
		_ = syscall.Kill(os.Getpid(), by)
		select {} // until it comes
	}
}
