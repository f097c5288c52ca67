package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// ErrBusy is returned when a wait for a turn or a lock reaches its deadline.
var ErrBusy = errors.New("another write is still running")

// A Turn lets one goroutine through at a time, like a mutex one can give up on.
type Turn chan struct{}

// NewTurn returns a turn that is free.
func NewTurn() Turn { return make(Turn, 1) }

// Take waits for the turn until wait is done, and returns ErrBusy then.
func (t Turn) Take(wait context.Context) error {
	if t.TakeFree() {
		return nil
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-wait.Done():
		return ErrBusy
	}
}

// TakeFree takes the turn if it is free, and reports whether it did.
func (t Turn) TakeFree() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// Give lets the next one through.
func (t Turn) Give() { <-t }

// A Lock is an exclusive flock that this process holds. Its file contains the
// holder's process id.
type Lock struct{ file *os.File }

// TakeLock waits for the lock on path until wait is done, and returns a
// LockHeld then.
func TakeLock(wait context.Context, path string) (*Lock, error) {
	file, err := OpenOwn(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if file, err = flockUntil(wait, file, syscall.LOCK_EX); err != nil {
		return nil, err
	}
	// This is for the advice given to others; a failure is no reason not to
	// write.
	_, _ = file.WriteAt(fmt.Appendf(nil, "%-10d\n", os.Getpid()), 0)
	return &Lock{file}, nil
}

// flockUntil locks a file and returns it, perhaps as opened by another wait for it. If
// there is an error, a LockHeld when wait is done, the file is closed.
func flockUntil(wait context.Context, file *os.File, how int) (*os.File, error) {
	err := flock(file, how|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return orClose(file, err)
	}
	w, err := waits.join(file, how)
	if err != nil {
		return orClose(file, err)
	}
	select {
	case <-w.over:
	case <-wait.Done():
		if waits.leave(w) {
			return nil, LockHeld{PID: lockHolder(file.Name())}
		}
		<-w.over // it was granted at the last moment
	}
	return orClose(w.file, w.err)
}

// orClose returns a file, or closes it if there is an error.
func orClose(file *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return file, nil
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Release releases the lock by closing the file. A nil lock is released
// already.
func (l *Lock) Release() {
	if l != nil {
		l.file.Close()
	}
}

// HolderOf waits for the lock on path until wait is done, and reports whether
// it was held all that time, and by which process. It releases at once a lock
// that it gets.
func HolderOf(wait context.Context, path string) (pid int, held bool) {
	file, err := OpenOwn(path, os.O_RDONLY)
	if err != nil {
		return 0, false
	}
	if file, err = flockUntil(wait, file, syscall.LOCK_SH); err == nil {
		err = file.Close()
	}
	return lockHolder(path), errors.Is(err, ErrBusy)
}

// lockHolder returns the id of the last process to take the lock, or 0 if
// unknown.
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

// A LockHeld is an ErrBusy because of another process; 0: which one is unknown.
type LockHeld struct{ PID int }

// Error says that another write is still running.
func (e LockHeld) Error() string { return ErrBusy.Error() }

// Unwrap returns ErrBusy.
func (e LockHeld) Unwrap() error { return ErrBusy }
