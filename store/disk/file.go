package disk

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A File is an open database.
type File struct {
	Path      string
	Current   bool // has the newest schema version; set by its owner
	Immutable bool // read as if nothing could change it, see Reader

	longLived bool
	reads     url.Values // of the connection string of a separate reader
	header    *header
	write     *Conn // nil until needed
	read      *Conn // nil until needed; without reads the same as write
	keeper    *keeper
}

// ErrGone is returned for use of a file that was removed or replaced.
var ErrGone = errors.New("the data folder was removed or replaced while flame was running")

// Open opens the database at path; it returns nil if there is none.
func Open(path string, longLived bool) (*File, error) {
	keepLocks()
	h, err := readHeader(path)
	if err != nil || h == nil {
		return nil, err
	}
	f := &File{Path: path, longLived: longLived, header: h}
	if longLived {
		f.reads = url.Values{"_query_only": {"1"}}
	}
	return f, nil
}

// OpenReadOnly opens the database at path read-only; it returns nil if there is
// none.
func OpenReadOnly(path string) (*File, error) {
	keepLocks()
	h, err := readHeader(path)
	if err != nil || h == nil {
		return nil, err
	}
	return &File{Path: path, header: h, reads: url.Values{"mode": {"ro"}}}, nil
}

// keepLocks chooses locks that are a descriptor's, before the first is taken. Otherwise
// closing any descriptor of a file drops SQLite's locks on it, in all Stores of this
// process. On systems without such locks, header stays open instead.
func keepLocks() { _, _ = sqlite.OFDLocking(true) }

// New returns a File for a database to be created at path.
func New(path string) *File { return &File{Path: path} }

// Check reports whether the path still is the open file, and the log's the one
// that writes go into. Whatever is written to a file that is no longer there is
// lost.
func (f *File) Check() error { return f.checkFor(f.write) }

// checkFor is Check for the log that c has open.
func (f *File) checkFor(c *Conn) error {
	info, err := os.Lstat(f.Path)
	if err != nil || !os.SameFile(info, f.header.info) {
		return goneUnless(err)
	}
	if !c.Usable() {
		return nil
	}
	log, err := os.Lstat(f.Path + "-wal")
	if c.log == nil { // there was none when c was opened
		c.log = log
		return nil
	}
	if err != nil || !os.SameFile(log, c.log) {
		return goneUnless(err)
	}
	return nil
}

// goneUnless returns ErrGone, unless err leaves that unknown.
func goneUnless(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	return err
}

// Close closes what is open; a nil file is closed already.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	err := f.keeper.stop()
	if f.read != f.write {
		err = errors.Join(err, f.read.Close())
	}
	return errors.Join(err, f.write.Close(), f.header.file.Close())
}

// Writes reports whether the connection for Update is open.
func (f *File) Writes() bool { return f.write.Usable() }

// Writer returns the connection for Update.
func (f *File) Writer(wait context.Context) (c *Conn, err error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if !f.write.Usable() {
		f.write, err = f.Connect(wait, nil)
	}
	return f.write, err
}

// Reader returns the connection for View. If SQLite may not create the files it
// needs beside the database, and there is no log or journal to respect, the
// database is read as it is.
func (f *File) Reader(wait context.Context) (c *Conn, err error) {
	if f.Immutable { // it is not watched, so it may have changed
		if err := f.read.Close(); err != nil {
			return nil, err
		}
		f.Immutable = false
	}
	if f.reads == nil {
		f.read, err = f.Writer(wait)
	} else if err = f.checkFor(f.read); err == nil && !f.read.Usable() {
		f.read, err = f.Connect(wait, f.reads)
	}
	if err != nil && deniedFiles(err) && Size(f.Path+"-wal")+Size(f.Path+"-journal") == 0 {
		f.Immutable = true
		f.read, err = f.Connect(wait, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	}
	return f.read, err
}

// deniedFiles reports whether SQLite could not make or open a file.
func deniedFiles(err error) bool {
	switch Code(err) {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return true
	}
	return false
}

// dsn returns the connection string. It includes the pragmas so that every
// connection has them. SQLite never creates the file; waiting for other
// processes is left to WhileBusy, which respects the context; Tidy and the
// keeper make checkpoints.
func (f *File) dsn(params url.Values) string {
	query := url.Values{
		"mode":          {"rw"},
		"_busy_timeout": {"10"}, // ms
		"_synchronous":  {"FULL"},
		"_pragma":       {"temp_store(MEMORY)", "wal_autocheckpoint(0)"},
	}
	if f.longLived { // it has three connections, each with a cache of 2 MB otherwise; more than this makes nothing quicker
		query.Add("_pragma", "cache_size(-500)") // KB
	}
	for key, values := range params {
		query[key] = values
	}
	return (&url.URL{Scheme: "file", Path: f.Path, RawQuery: query.Encode()}).String()
}

// shortLog is the size in bytes of the write-ahead log from which a short
// process checkpoints it into the database and empties it. As long as no
// process stays, each new one reads all of the log; and because the log then
// counts as not checkpointed, a checkpoint that leaves it full would never stop
// its growth.
const shortLog = 64 * (4096 + 24)

// StartKeeper starts the keeper of a long-lived process, unless it is running.
func (f *File) StartKeeper(wait context.Context, logger *slog.Logger) error {
	if !f.longLived || f.keeper != nil {
		return nil
	}
	c, err := f.Connect(wait, f.reads)
	if err == nil {
		f.keeper = startKeeper(f.Path, c, logger)
	}
	return err
}

// Tidy keeps the log short after a commit. The commit is safe already, so
// trouble is left to the next one.
func (f *File) Tidy() {
	if f.longLived {
		f.keeper.wake()
		return
	}
	if Size(f.Path+"-wal") > shortLog {
		_, _ = f.write.Exec(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
}

// Connect opens a connection with these parameters; it is the first to look
// into the file.
func (f *File) Connect(wait context.Context, params url.Values) (c *Conn, err error) {
	err = WhileBusy(wait, func() error {
		c, err = Connect(f.dsn(params))
		return err
	})
	if err == nil { // SQLite does not replace the log from now on
		c.log, _ = os.Lstat(f.Path + "-wal")
	}
	return c, err
}
