// Package lock has locks whose callers can stop waiting: a Mutex for goroutines, and a Lock for
// the processes of this machine.
package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// ErrBusy reports that a wait for a turn or a lock reached its deadline.
var ErrBusy = errors.New("another write is still running")

// A Mutex is a mutex with a deadline: one goroutine has it at a time.
type Mutex chan struct{}

// NewTurn returns a free turn.
func NewTurn() Mutex { return make(Mutex, 1) }

// Lock waits for the turn. It returns ErrBusy if wait is done before.
func (t Mutex) Lock(wait context.Context) error {
	if t.TryLock() {
		return nil
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-wait.Done():
		return ErrBusy
	}
}

// TryLock takes the turn if it is free, and reports whether it took it.
func (t Mutex) TryLock() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock passes the turn to the next goroutine.
func (t Mutex) Unlock() { <-t }

// A Lock is an exclusive flock that this process holds. Its file contains the process id
// of the holder.
type Lock struct{ file *os.File }

// Acquire waits for the lock on path. It returns a BusyError if wait is done before.
func Acquire(wait context.Context, path string) (*Lock, error) {
	file, err := open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if file, err = flockUntil(wait, file, syscall.LOCK_EX); err != nil {
		return nil, err
	}
	// Other processes name the holder in their errors. The lock works without it.
	_, _ = file.WriteAt(fmt.Appendf(nil, "%-10d\n", os.Getpid()), 0)
	return &Lock{file}, nil
}

// open opens the file of a lock. It refuses a link in its place, and never waits for a
// pipe's writer.
func open(path string, flags int) (*os.File, error) {
	return os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}

// flockUntil locks a file and returns it, or the same file as another wait opened it. If
// wait is done before, it returns a BusyError. After an error the file is closed.
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
			return nil, BusyError{PID: lockHolder(file.Name())}
		}
		<-w.over // the system granted the lock at the last moment
	}
	return orClose(w.file, w.err)
}

// orClose returns a file, or closes it after an error.
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

// Release releases the lock. A nil lock is released already.
func (l *Lock) Release() {
	if l != nil {
		unlock(l.file)
	}
}

// unlock closes a locked file. Closing alone may keep the lock for a moment: a process that
// this one is just starting shares the file until it runs its own program.
func unlock(file *os.File) {
	_ = flock(file, syscall.LOCK_UN)
	file.Close()
}

// HolderOf waits for the lock on path until wait is done. It reports whether another
// process held the lock during the whole wait, and which one. If HolderOf gets the lock,
// it releases it at once.
func HolderOf(wait context.Context, path string) (pid int, held bool) {
	file, err := open(path, os.O_RDONLY)
	if err != nil {
		return 0, false
	}
	if file, err = flockUntil(wait, file, syscall.LOCK_SH); err == nil {
		unlock(file)
	}
	return lockHolder(path), errors.Is(err, ErrBusy)
}

// lockHolder returns the id of the process that took the lock last; 0 if unknown.
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

// A BusyError is an ErrBusy with the process that holds the lock; PID 0: unknown.
type BusyError struct{ PID int }

// Error says that another write is still running.
func (e BusyError) Error() string { return ErrBusy.Error() }

// Unwrap returns ErrBusy.
func (e BusyError) Unwrap() error { return ErrBusy }
