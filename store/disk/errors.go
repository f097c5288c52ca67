package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"

	"flame/config/env"
	"flame/core"
	"flame/local/lock"
	"flame/local/place"
)

// An advice is the text for a kind of error of the file.
type advice struct {
	errs    []error // any of these, or
	codes   []int   // any of these results of SQLite
	message string  // what is wrong with the file
	hint    string  // what to do
}

// seeDoctor is the hint if only an examination of the file helps.
const seeDoctor = "`flame doctor` says what is wrong; the file was left as it is"

// advices lists all advice; the first that fits is used.
var advices = []advice{{
	errs:    []error{ErrGone},
	message: "%s: " + ErrGone.Error(),
	hint:    "put the folder back, or restart this flame (in a host: its MCP server) to start afresh; `flame doctor` shows what is there",
}, {
	errs:    []error{ErrNewer},
	message: "%s was written by a newer flame",
	hint:    "install the newest flame; `flame doctor` shows the versions",
}, {
	errs:    []error{ErrNotFlame},
	message: "%s is another program's database",
	hint:    "move it away or name another folder with " + env.Dir + "; `flame doctor` looks into it",
}, {
	errs:    []error{ErrDamaged},
	codes:   []int{sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB},
	message: "%s is damaged",
	hint:    seeDoctor,
}, {
	errs:    []error{ErrNoInodes},
	message: "%s cannot be written: " + ErrNoInodes.Error(),
	hint:    "delete files on that disk; `flame doctor` shows the sizes",
}, {
	errs:    []error{syscall.ENOSPC, syscall.EDQUOT},
	codes:   []int{sqlite3.SQLITE_FULL},
	message: "%s cannot grow: the disk is full",
	hint:    "free some space; `flame doctor` shows the sizes",
}, {
	errs:    []error{fs.ErrPermission, syscall.EROFS},
	codes:   []int{sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM},
	message: "%s cannot be opened or written",
	hint:    "make the folder writable or name another with " + env.Dir + "; `flame doctor` shows what is wrong",
}, {
	errs:    []error{lock.ErrBusy},
	codes:   []int{sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL},
	message: "%s is locked: " + lock.ErrBusy.Error(),
	hint:    "try again; `flame doctor` shows who holds the lock",
}, {
	errs:    []error{context.DeadlineExceeded},
	message: "%s could not be used in time",
	hint:    "try again; this machine or its disk is slow now",
}, {
	errs:    []error{fs.ErrNotExist, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP, syscall.EIO},
	codes:   []int{sqlite3.SQLITE_IOERR},
	message: "%s cannot be read or written",
	hint:    seeDoctor,
}}

// fits reports whether a is about err.
func (a advice) fits(err error) bool {
	return slices.Contains(a.codes, Code(err)) ||
		slices.ContainsFunc(a.errs, func(target error) bool { return errors.Is(err, target) })
}

// A CallbackError is an error of the function that View or Update ran.
type CallbackError struct{ Err error }

func (e CallbackError) Error() string { return e.Err.Error() }
func (e CallbackError) Unwrap() error { return e.Err }

// ExplainError turns an error of the file at path into advice. It returns errors of the caller's
// function, and the end of the caller's context, unchanged. A deadline that ends a wait is an
// error of the file, and so are damage that the function found and a lock that it met.
func ExplainError(ctx context.Context, path string, err error) error {
	var caller CallbackError
	ran := errors.As(err, &caller)
	var file *fs.PathError // from the lock that its first write took
	if ran && Code(caller) == 0 && !errors.Is(caller, ErrDamaged) && !errors.Is(caller, lock.ErrBusy) && !errors.As(caller, &file) {
		return caller.Err
	}
	var told *core.Problem
	if err == nil || errors.As(err, &told) {
		return err
	}
	if end := ctx.Err(); end != nil && (ran || errors.Is(end, context.Canceled)) {
		return end
	}
	err = withInodes(path, err)
	for _, a := range advices {
		if a.fits(err) {
			return core.Unavailablef(err, a.message+holder(err), path).WithHint("%s", a.hint)
		}
	}
	return core.Unavailablef(err, "%s: %v", path, err).WithHint("%s", seeDoctor)
}

// ErrNoInodes is returned for a disk that has no room for more files.
var ErrNoInodes = errors.New("the disk has no inodes left")

// withInodes adds ErrNoInodes to an error that a lack of inodes causes: the system then
// reports that the disk is full, and SQLite that it cannot open a file.
func withInodes(path string, err error) error {
	full, code := errors.Is(err, syscall.ENOSPC), Code(err)
	if !full && code != sqlite3.SQLITE_CANTOPEN && code != sqlite3.SQLITE_IOERR {
		return err
	}
	blocks, inodes := DiskFull(place.Nearest(filepath.Dir(path)))
	if !inodes || full && blocks {
		return err
	}
	return errors.Join(ErrNoInodes, err)
}

// holder names the process that holds the lock, if err is about that.
func holder(err error) string {
	var held lock.BusyError
	if !errors.As(err, &held) || held.PID == 0 {
		return ""
	}
	return fmt.Sprintf(", most likely of process %d", held.PID)
}

// DiskFull reports whether the file system of dir has run out of blocks, and of inodes. A file
// system that does not count inodes never runs out of them.
func DiskFull(dir string) (blocks, inodes bool) {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return false, false
	}
	return st.Bavail == 0, st.Files > 0 && st.Ffree == 0
}
