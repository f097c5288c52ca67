package intake

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/local/lock"
	"flame/local/place"
)

// MaxInbox is how many bytes an inbox holds (DESIGN §4).
const MaxInbox = 100 << 20

// The files of an inbox, in the folder "inbox" of the data.
const (
	folder       = "inbox"
	arriving     = "events"      // lines are appended here
	takingSuffix = ".taking"     // how the name of a file ends whose lines are being taken out
	lost         = "lost"        // one byte for each line that could not be put
	aside        = "unreadable"  // lines that flame could not read
	putLock      = "lock"        // held to append, and to begin to take
	takeLock     = "taking.lock" // held to take
)

// An Inbox keeps lines in one data folder, in order: several processes put them there, and one
// at a time takes them out. They are events that could not be written to the store in time.
type Inbox struct {
	Dir   string                                                        // the data folder
	Ready func(ctx context.Context, write bool) (there bool, err error) // makes the data folder if it is to be written to; nil: it is there
	Limit int64                                                         // in bytes; 0: MaxInbox
}

// A Line is one line of an inbox. File and N tell it from all others; the lines of a
// file are counted from 1.
type Line struct {
	File string
	N    int64
	Text []byte
}

// Waits reports whether there are lines to take.
func (b Inbox) Waits() bool {
	files, err := b.files()
	return len(files) > 0 || err != nil // no event may overtake lines that cannot be listed
}

// files returns the names of the files with lines, the oldest first.
func (b Inbox) files() (names []string, err error) {
	entries, err := os.ReadDir(b.path(""))
	if err != nil {
		return nil, unlessMissing(err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), takingSuffix) {
			names = append(names, entry.Name())
		}
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == arriving }) {
		names = append(names, arriving)
	}
	return names, nil
}

// Put appends a line, which must hold no line break. It is on the disk when Put returns
// nil, and nothing of it is kept otherwise, but that it is counted as lost.
func (b Inbox) Put(ctx context.Context, line []byte) error {
	err := b.put(ctx, line)
	if err != nil {
		b.countLost()
	}
	return err
}

func (b Inbox) put(ctx context.Context, line []byte) error {
	return b.locked(ctx, true, putLock, func() error {
		size, err := b.size()
		if err != nil {
			return err
		}
		if limit := b.limit(); size+int64(len(line)) > limit {
			return core.Unavailablef(nil, "the inbox %s is full: %d MB", b.path(""), limit>>20).
				WithHint("`flame doctor` says why no process handles them")
		}
		return b.append(arriving, line)
	})
}

// append appends a line to a file. If a killed process has written only a part of a line, append
// starts a new one.
func (b Inbox) append(name string, line []byte) error {
	file, err := place.OpenOwn(b.path(name), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	text := slices.Concat(line, []byte("\n"))
	if torn, err := isTorn(file, end); err != nil {
		return err
	} else if torn {
		text = slices.Concat([]byte("\n"), text)
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err != nil {
		return errors.Join(err, file.Truncate(end))
	}
	if end == 0 {
		return place.SyncFolder(b.path(""))
	}
	return nil
}

// isTorn reports whether a file of this size does not end with a line break.
func isTorn(file *os.File, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	var last [1]byte
	_, err := file.ReadAt(last[:], size-1)
	return last[0] != '\n', err
}

// Take calls f with each line, in order, until none is left. A file is deleted once f
// has returned nil for all its lines; else the next Take begins it again, under the same
// name, so f must know which lines it has seen. Only one process takes at a time: others
// wait until ctx is done, and return an error that is lock.ErrBusy.
func (b Inbox) Take(ctx context.Context, f func(Line) error) error {
	if !b.Waits() {
		return nil
	}
	return b.locked(ctx, false, takeLock, func() error {
		for {
			name, err := b.next(ctx)
			if name == "" || err != nil {
				return err
			}
			if err := b.takeFile(ctx, name, f); err != nil {
				return err
			}
			if err := os.Remove(b.path(name)); err != nil {
				return err
			}
		}
	})
}

// next returns the file to take lines from; empty without one. It renames the file of new lines
// first, so that no process appends to it any more.
func (b Inbox) next(ctx context.Context) (name string, err error) {
	err = b.locked(ctx, false, putLock, func() error {
		files, err := b.files()
		if len(files) == 0 || err != nil {
			return err
		}
		if name = files[0]; name == arriving {
			name = strings.ToLower(rand.Text()) + takingSuffix
			return os.Rename(b.path(arriving), b.path(name))
		}
		return nil
	})
	return name, err
}

func (b Inbox) takeFile(ctx context.Context, name string, f func(Line) error) error {
	file, err := place.OpenOwn(b.path(name), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for n := int64(1); ; n++ {
		text, err := lines.ReadBytes('\n')
		if len(text) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f(Line{File: name, N: n, Text: text}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("inbox: %w", err)
		}
	}
}

// SetAside stores an unreadable line in a file for people, unless there are too many. It does not
// store the last line twice.
func (b Inbox) SetAside(line Line) error {
	text := bytes.TrimSuffix(line.Text, []byte("\n"))
	if again, err := b.endsWith(aside, text); again || err != nil {
		return err
	}
	if info, err := os.Lstat(b.path(aside)); err == nil && info.Size()+int64(len(line.Text)) > b.limit() {
		b.countLost()
		return nil
	}
	return b.append(aside, text)
}

// endsWith reports whether the last line of a file is this one.
func (b Inbox) endsWith(name string, line []byte) (bool, error) {
	file, err := place.OpenOwn(b.path(name), os.O_RDONLY)
	if err != nil {
		return false, unlessMissing(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	last := slices.Concat([]byte("\n"), line, []byte("\n"))
	end := make([]byte, min(info.Size(), int64(len(last))))
	_, err = file.ReadAt(end, info.Size()-int64(len(end)))
	return bytes.HasSuffix(append([]byte("\n"), end...), last), err // it may be the only line
}

// countLost counts a line that could not be put, if even that can be written.
func (b Inbox) countLost() {
	if b.prepare(context.Background(), false) != nil {
		return
	}
	if file, err := place.OpenOwn(b.path(lost), os.O_WRONLY|os.O_APPEND|os.O_CREATE); err == nil {
		_, _ = file.WriteString(".")
		file.Close()
	}
}

// LostFile returns the path of the file that counts lost lines.
func (b Inbox) LostFile() string { return b.path(lost) }

// An InboxState is how full an inbox is.
type InboxState struct {
	Bytes, Limit int64  // of lines that wait
	Lost         int64  // lines that could not be put, ever
	Aside        string // the file with unreadable lines; empty without one
}

// State returns how full the inbox is.
func (b Inbox) State() (s InboxState, err error) {
	s.Limit = b.limit()
	if s.Bytes, err = b.size(); err != nil {
		return s, err
	}
	if info, err := os.Lstat(b.path(lost)); err == nil {
		s.Lost = info.Size()
	}
	if _, err := os.Lstat(b.path(aside)); err == nil {
		s.Aside = b.path(aside)
	}
	return s, nil
}

func (b Inbox) limit() int64 {
	if b.Limit > 0 {
		return b.Limit
	}
	return MaxInbox
}

// size returns the bytes of all lines that wait.
func (b Inbox) size() (sum int64, err error) {
	names, err := b.files()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		info, err := os.Lstat(b.path(name))
		if unlessMissing(err) != nil {
			return 0, err
		}
		if err == nil { // else it was taken in meanwhile
			sum += info.Size()
		}
	}
	return sum, nil
}

func (b Inbox) path(name string) string { return filepath.Join(b.Dir, folder, name) }

// locked runs f while this process holds a lock. To write, it makes the folder.
func (b Inbox) locked(ctx context.Context, write bool, name string, f func() error) error {
	if err := b.prepare(ctx, write); err != nil {
		return err
	}
	held, err := lock.Take(ctx, b.path(name))
	if err != nil {
		return err
	}
	defer held.Release()
	return f()
}

// prepare makes the folder if it is to be written to, and refuses one that others could
// have put there.
func (b Inbox) prepare(ctx context.Context, write bool) error {
	if write {
		if b.Ready != nil {
			if _, err := b.Ready(ctx, true); err != nil {
				return err
			}
		}
		switch err := os.Mkdir(b.path(""), 0o700); {
		case err == nil:
			if err = place.SyncFolder(b.Dir); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	info, err := os.Lstat(b.path(""))
	if err != nil {
		return err
	}
	return place.Trusted(b.path(""), info, fs.ModeDir)
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
