// Package wrap runs a host's program in front of a gateway: the program has the
// terminal as if it had been started alone, while the gateway is a process of its own
// beside it, which is started again whenever it dies. Package gateway handles the requests;
// the host decides on the settings of the program.
package wrap

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"flame/local/place"
)

// A Wrapper is a program and its gateway. They share a port of this machine's own, which
// this process opened: what connects while no gateway runs waits for the next one. The
// program holds the port too, so that no other process gets it, with the requests, while the
// program runs.
type Wrapper struct {
	Port    *Port
	Program *exec.Cmd                       // not started; its files are this process's
	Gateway func(context.Context) *exec.Cmd // makes the command of a gateway, which uses InheritedPort
	Log     *slog.Logger
	Pace    Backoff
}

// Backoff says how patient a front is with its gateway.
type Backoff struct {
	First, Most time.Duration // the pause before the second start in a row, which doubles, and the longest one
	Steady      time.Duration // a gateway that ran this long was all right
	Grace       time.Duration // it has to store what it knows once the program is over
}

// DefaultPace is the pace of real fronts.
var DefaultPace = Backoff{First: 50 * time.Millisecond, Most: 5 * time.Second, Steady: 10 * time.Second, Grace: 10 * time.Second}

// Run starts gateway and program, and returns when both have ended. A signal that ends this
// process only ends its wait for the gateway, which still stores what it knows.
func (f Wrapper) Run() (ExitStatus, error) {
	runtime.LockOSThread() // the program is bound to the thread that starts it
	defer runtime.UnlockOSThread()
	// Gateways end when all copies of held are closed: this process and the program hold it, but
	// a wrapper program may close files that it does not know.
	alive, held, err := os.Pipe()
	if err != nil {
		return ExitStatus{}, err
	}
	defer alive.Close()
	defer held.Close()
	f.Program.ExtraFiles = []*os.File{f.Port.file, held}
	f.Program.SysProcAttr = place.DieWithParent(syscall.SIGTERM)
	relay := listen() // before the program starts: a signal in between is not lost
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := f.Program.Start(); err != nil {
		return ExitStatus{}, err
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

// keepGateway keeps a gateway running until ctx ends.
func (f Wrapper) keepGateway(ctx context.Context, alive *os.File) {
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
		f.Log.Error("the gateway died; flame starts it again", "error", err, "pause", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(max(2*pause, f.Pace.First), f.Pace.Most)
	}
}

// runGateway runs one gateway to its end, which comes soon once ctx ends.
func (f Wrapper) runGateway(ctx context.Context, alive *os.File) error {
	cmd := f.Gateway(ctx)
	said := &lastWords{}
	cmd.Stdin, cmd.Stderr, cmd.ExtraFiles = alive, said, []*os.File{f.Port.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C and the like are only for the program
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, f.Pace.Grace
	return errors.Join(cmd.Run(), said.err())
}

// lastWords keeps the first line that a gateway wrote to stderr: why it died. Later lines may
// contain memory of its requests.
type lastWords struct{ line []byte }

// maxWords bounds that line, in bytes.
const maxWords = 400

// Write takes everything, and keeps the first line.
func (w *lastWords) Write(p []byte) (int, error) {
	if !bytes.Contains(w.line, []byte("\n")) && len(w.line) < maxWords {
		w.line = append(w.line, p[:min(len(p), maxWords)]...)
	}
	return len(p), nil
}

func (w *lastWords) err() error {
	line, _, _ := bytes.Cut(w.line, []byte("\n"))
	if len(line) == 0 {
		return nil
	}
	return errors.New(string(line))
}
