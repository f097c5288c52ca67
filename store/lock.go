package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// lockName is the file whose lock orders the writers of all processes. SQLite's
// own waiting sleeps and polls, which makes the unlucky wait ten times longer.
const lockName = "flame.lock"

// errBusy is what a wait for a turn or a lock ends with at its deadline.
var errBusy = errors.New("another write is still running")

// A turn lets one goroutine through at a time, like a mutex one can give up on.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn until wait is done, which is errBusy.
func (t turn) take(wait context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-wait.Done():
		return errBusy
	}
}

func (t turn) give() { <-t }

// A fileLock is an exclusive flock that this process holds. Its file tells the
// holder's process id.
type fileLock struct{ file *os.File }

// takeLock waits for the lock on path until wait is done, which is a lockHeld.
func takeLock(wait context.Context, path string) (*fileLock, error) {
	file, err := openOwn(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := flockUntil(wait, file, syscall.LOCK_EX); err != nil {
		return nil, err
	}
	// For the advice that others then give; that it fails is no reason not to
	// write.
	_, _ = file.WriteAt(fmt.Appendf(nil, "%-10d\n", os.Getpid()), 0)
	return &fileLock{file}, nil
}

// flockUntil locks file, or closes it and returns an error: a lockHeld when wait is
// done.
func flockUntil(wait context.Context, file *os.File, how int) error {
	err := flock(file, how|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return orClose(file, err)
	}
	granted := make(chan error, 1)
	go func() { granted <- flock(file, how) }()
	select {
	case err := <-granted:
		return orClose(file, err)
	case <-wait.Done():
		go func() { // a system call cannot be called off: a late grant is given back
			<-granted
			file.Close()
		}()
		return lockHeld{pid: lockHolder(file.Name())}
	}
}

func orClose(file *os.File, err error) error {
	if err != nil {
		return errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return nil
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// release gives the lock up: closing the file does.
func (l *fileLock) release() { l.file.Close() }

// holderOf waits for the lock on path until wait is done, and reports whether it was
// held for so long, and by which process. A lock that it gets it gives back at once.
func holderOf(wait context.Context, path string) (pid int, held bool) {
	file, err := openOwn(path, os.O_RDONLY)
	if err != nil {
		return 0, false
	}
	if err = flockUntil(wait, file, syscall.LOCK_SH); err == nil {
		err = file.Close()
	}
	return lockHolder(path), errors.Is(err, errBusy)
}

// lockHolder returns the id of the process that took the lock last; 0: unknown.
func lockHolder(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return 0
	}
	return pid
}

// A lockHeld is an errBusy because of another process; 0: which one is unknown.
type lockHeld struct{ pid int }

func (e lockHeld) Error() string { return errBusy.Error() }
func (e lockHeld) Unwrap() error { return errBusy }
