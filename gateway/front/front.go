// Package front runs a host's program in front of a gateway: the program has the
// terminal as if it had been started alone, while the gateway is a process of its own
// beside it, which is started again whenever it dies. What a gateway does with requests is
// package gateway's; what the program is told is its host's.
package front

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// A Front is a program and its gateway. They share a port of this machine's own, which
// this process opened: what connects while no gateway runs waits for the next one. The
// program holds the port too, so that nobody else gets it, and what is sent to it, while
// the program runs.
type Front struct {
	Port    *Port
	Program *exec.Cmd        // not started; its files are this process's
	Gateway func() *exec.Cmd // makes the command of a gateway, which uses Inherited
	Log     *slog.Logger
	Pace    Pace
}

// Pace says how patient a front is with its gateway.
type Pace struct {
	First, Most time.Duration // the pause before the second start in a row, which doubles, and the longest one
	Steady      time.Duration // a gateway that ran this long was all right
	Grace       time.Duration // it has to store what it knows once the program is over
}

// DefaultPace is the pace of real fronts.
var DefaultPace = Pace{First: 50 * time.Millisecond, Most: 5 * time.Second, Steady: 10 * time.Second, Grace: 10 * time.Second}

// Run starts gateway and program, and returns when the program is over and its gateway
// too. A signal that ends this process ends the wait for the gateway alone, which still
// stores what it knows.
func (f Front) Run() (End, error) {
	runtime.LockOSThread() // the program is bound to the thread that starts it
	defer runtime.UnlockOSThread()
	// Gateways end when held is closed everywhere: this process and the program hold it, but
	// a program that is a wrapper may close what it was not told of.
	alive, held, err := os.Pipe()
	if err != nil {
		return End{}, err
	}
	defer alive.Close()
	defer held.Close()
	f.Program.ExtraFiles = []*os.File{f.Port.file, held}
	f.Program.SysProcAttr = bound()
	relay := listen() // before the program starts: a signal in between is not lost
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := f.Program.Start(); err != nil {
		return End{}, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.keepGateway(ctx, alive)
	}()
	end, err := relay.wait(f.Program.Process)
	stop()
	relay.until(ended)
	return end, err
}

// keepGateway has a gateway run until ctx ends.
func (f Front) keepGateway(ctx context.Context, alive *os.File) {
	pause := time.Duration(0)
	for {
		began := time.Now()
		err := f.runGateway(ctx, alive)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= f.Pace.Steady {
			pause = 0
		}
		f.Log.Error("the gateway died and is started again", "error", err, "pause", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(max(2*pause, f.Pace.First), f.Pace.Most)
	}
}

// runGateway runs one gateway to its end, which comes soon once ctx ends.
func (f Front) runGateway(ctx context.Context, alive *os.File) error {
	cmd := f.Gateway()
	said := &lastWords{}
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = alive, said, []*os.File{f.Port.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what is typed at the terminal is for the program
	if err := cmd.Start(); err != nil {
		return err
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be over
		select {
		case <-over:
		case <-time.After(f.Pace.Grace):
			_ = cmd.Process.Kill()
		}
	}()
	return errors.Join(cmd.Wait(), said.err())
}
