package intake

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/local/lock"
	"flame/local/place"
	"flame/project/turns"
)

// MaxInbox is how many bytes an inbox holds.
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

// HasLines reports whether there are lines to take.
func (b Inbox) HasLines() bool {
	files, _, err := b.files()
	return len(files) > 0 || err != nil // no event may overtake lines that cannot be listed
}

// files returns the names of the files with lines, the oldest first, and the bytes in them.
func (b Inbox) files() (names []string, size int64, err error) {
	entries, err := os.ReadDir(b.path(""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	var newest []string
	for _, entry := range entries {
		switch name := entry.Name(); {
		case name == arriving:
			newest = []string{name}
		case strings.HasSuffix(name, takingSuffix):
			names = append(names, name)
		default:
			continue
		}
		if info, err := entry.Info(); err == nil { // else its lines were taken meanwhile
			size += info.Size()
		}
	}
	return append(names, newest...), size, err
}

// Append appends a line, which must hold no line break. It is on the disk when Put returns
// nil, and nothing of it is kept otherwise, but that it is counted as lost.
func (b Inbox) Append(ctx context.Context, line []byte) error {
	err := b.put(ctx, line)
	if err != nil && b.trusted() == nil {
		_ = b.append(lost, []byte("."))
	}
	return err
}

func (b Inbox) put(ctx context.Context, line []byte) error {
	if err := b.prepare(ctx); err != nil {
		return err
	}
	return b.locked(ctx, putLock, func() error {
		_, size, err := b.files()
		if limit := b.limit(); err == nil && size+int64(len(line)) > limit {
			err = core.Unavailablef(nil, "the inbox %s is full: %d MB", b.path(""), limit>>20).
				WithHint("`flame doctor` says why no process handles them")
		}
		if err != nil {
			return err
		}
		// The first line break ends a line of which a killed process has written a part.
		return b.append(arriving, slices.Concat([]byte("\n"), line, []byte("\n")))
	})
}

// append appends a text to a file in one write.
func (b Inbox) append(name string, text []byte) error {
	file, err := place.OpenOwn(b.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer file.Close()
	before, err := file.Stat()
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err != nil {
		return errors.Join(err, file.Truncate(before.Size()))
	}
	if before.Size() == 0 {
		return place.SyncFolder(b.path(""))
	}
	return nil
}

// A Taker takes the lines of files with names that never come again. Its errors end Inbox.Take.
type Taker struct {
	From func(file string) (taken int64, err error) // how many lines of a file are taken already
	Line func(at turns.EventID, line []byte) error  // takes a line, valid until the next; at has its file and its number, from 1
}

// Take has t take each line, in order, until none is left. It deletes a file whose lines are all
// taken; else the next Take goes on with it. Only one process takes at a time: others wait until
// ctx is done, and return an error that is lock.ErrBusy.
func (b Inbox) Take(ctx context.Context, t Taker) error {
	if !b.HasLines() {
		return nil
	}
	return b.locked(ctx, takeLock, func() error {
		for {
			files, _, err := b.files()
			if len(files) == 0 || err != nil {
				return err
			}
			name := files[0]
			if name == arriving { // under another name, no process appends to it
				name = strings.ToLower(rand.Text()) + takingSuffix
				err = b.locked(ctx, putLock, func() error { return os.Rename(b.path(arriving), b.path(name)) })
			}
			if err == nil {
				err = b.takeFile(ctx, name, t)
			}
			if err == nil {
				err = os.Remove(b.path(name))
			}
			if err != nil {
				return err
			}
		}
	})
}

// takeFile takes the lines of a file. Empty lines do not count.
func (b Inbox) takeFile(ctx context.Context, name string, t Taker) error {
	file, err := place.OpenOwn(b.path(name), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	taken, err := t.From(name)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 2*MaxInbox)
	for n := int64(0); err == nil && lines.Scan(); {
		if len(lines.Bytes()) > 0 {
			n++
		}
		if err = ctx.Err(); err == nil && len(lines.Bytes()) > 0 && n > taken {
			err = t.Line(turns.EventID{Source: name, N: n}, lines.Bytes())
		}
	}
	return cmp.Or(err, lines.Err())
}

// Quarantine stores an unreadable line in a file for people.
func (b Inbox) Quarantine(line []byte) error {
	return b.append(aside, slices.Concat(line, []byte("\n")))
}

// An InboxState is how full an inbox is.
type InboxState struct {
	Bytes, Limit int64  // of lines that wait
	Lost         int64  // lines that could not be put, ever
	LostFile     string // the file that counts them
	Aside        string // the file with unreadable lines; empty without one
}

// State returns how full the inbox is.
func (b Inbox) State() (s InboxState, err error) {
	s.Limit, s.LostFile = b.limit(), b.path(lost)
	_, s.Bytes, err = b.files()
	if info, err := os.Lstat(s.LostFile); err == nil {
		s.Lost = info.Size()
	}
	if _, err := os.Lstat(b.path(aside)); err == nil {
		s.Aside = b.path(aside)
	}
	return s, err
}

func (b Inbox) limit() int64 { return cmp.Or(b.Limit, MaxInbox) }

func (b Inbox) path(name string) string { return filepath.Join(b.Dir, folder, name) }

// locked runs f while this process holds a lock.
func (b Inbox) locked(ctx context.Context, name string, f func() error) error {
	if err := b.trusted(); err != nil {
		return err
	}
	held, err := lock.Acquire(ctx, b.path(name))
	if err != nil {
		return err
	}
	defer held.Release()
	return f()
}

// prepare makes the folder.
func (b Inbox) prepare(ctx context.Context) error {
	if b.Ready != nil {
		if _, err := b.Ready(ctx, true); err != nil {
			return err
		}
	}
	err := os.Mkdir(b.path(""), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, place.SyncFolder(b.Dir))
}

// trusted refuses a folder that others could have put there.
func (b Inbox) trusted() error {
	info, err := os.Lstat(b.path(""))
	if err != nil {
		return err
	}
	return place.CheckOwned(b.path(""), info, fs.ModeDir)
}
