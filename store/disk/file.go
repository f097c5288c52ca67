// Package disk is the database on disk: the data folder and who may open it, the file's
// header and its schema, the lock that orders the writers of all processes, connections
// to SQLite and their transactions, the write-ahead log, flame's own log, advice if any of
// these cannot be used, and their checks for `flame doctor`. It knows only the SQL of the
// tables; package store knows their content.
package disk

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"flame/local/lock"
)

// A File is an open database.
type File struct {
	Path      string
	Current   bool // it has the newest schema version; set by its owner
	Immutable bool // SQLite reads it as if nothing could change it, see Reader

	longLived bool
	reads     url.Values // of the connection string of a separate reader
	header    *header
	write     *Conn // nil until needed
	read      *Conn // nil until needed; the same as write if reads is nil
	keeper    *keeper
}

// ErrGone is returned for use of a file that was removed or replaced.
var ErrGone = errors.New("the data folder was removed or replaced while flame was running")

// Open opens the database at path; it returns nil if there is none.
func Open(path string, longLived bool) (*File, error) {
	if longLived {
		return open(path, longLived, url.Values{"_query_only": {"1"}})
	}
	return open(path, longLived, nil)
}

// OpenReadOnly is Open for a file that is only read.
func OpenReadOnly(path string) (*File, error) { return open(path, false, url.Values{"mode": {"ro"}}) }

func open(path string, longLived bool, reads url.Values) (*File, error) {
	keepLocks()
	h, err := readHeader(path)
	if err != nil || h == nil {
		return nil, err
	}
	return &File{Path: path, longLived: longLived, reads: reads, header: h}, nil
}

// keepLocks makes SQLite use locks that belong to a descriptor, before it takes the first.
// Otherwise closing any descriptor of a file drops SQLite's locks on it, in all Stores of this
// process. On systems without such locks, header stays open instead.
func keepLocks() { _, _ = sqlite.OFDLocking(true) }

// New returns a File for a database to be created at path.
func New(path string) *File { return &File{Path: path} }

// Check returns ErrGone unless the path still names the open file, and the path of the log the
// log to which SQLite writes. Writes to a removed file are lost.
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
	if c.log == nil { // there was no log when c was opened
		c.log = log
		return nil
	}
	if err != nil || !os.SameFile(log, c.log) {
		return goneUnless(err)
	}
	return nil
}

// goneUnless returns ErrGone, unless err is another error than that the file does not exist.
func goneUnless(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	return err
}

// Close closes the file and its connections. It does nothing if f is nil.
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

// Reader returns the connection for View. If SQLite may not create the files that it needs
// beside the database, and there is no log or journal to respect, Reader opens the database
// as immutable.
func (f *File) Reader(wait context.Context) (c *Conn, err error) {
	if f.Immutable { // SQLite does not watch the file, so it may have changed
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

// ReadCopy returns the connection for View of a file that cannot be migrated: to a copy that migrate
// brought up to date. Only the connection keeps the copy.
func (f *File) ReadCopy(wait context.Context, migrate func(*Conn) error) (*Conn, error) {
	dir, err := os.MkdirTemp("", "flame-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, Name)
	if err := f.read.CopyTo(wait, path); err != nil {
		return nil, err
	}
	copied, err := Connect("file:" + path)
	if err == nil {
		err = errors.Join(migrate(copied), f.read.Close())
		f.read = copied
	}
	return copied, err
}

// deniedFiles reports whether SQLite could not make or open a file.
func deniedFiles(err error) bool {
	return slices.Contains([]int{sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}, Code(err))
}

// dsn returns the connection string. It includes the pragmas so that every connection has
// them. SQLite never creates the file. WhileBusy waits for other processes, because it
// respects the context. Tidy and the keeper make checkpoints.
func (f *File) dsn(params url.Values) string {
	query := url.Values{
		"mode":          {"rw"},
		"_busy_timeout": {"10"}, // ms
		"_synchronous":  {"FULL"},
		"_pragma":       {"temp_store(MEMORY)", "wal_autocheckpoint(0)"},
	}
	if f.longLived { // it has three connections, each with a cache of 2 MB by default; a larger cache than this is no faster
		query.Add("_pragma", "cache_size(-500)") // KB
	}
	for key, values := range params {
		query[key] = values
	}
	return (&url.URL{Scheme: "file", Path: f.Path, RawQuery: query.Encode()}).String()
}

// shortLog is the size in bytes of the write-ahead log from which a short process checkpoints
// it into the database and empties it. If no process stays, each new process reads the whole
// log. The log then counts as not checkpointed, so a checkpoint that leaves it full would
// never stop its growth.
const shortLog = 64 * (4096 + 24)

// StartCheckpointer starts the keeper of a long-lived process, unless it is running.
func (f *File) StartCheckpointer(wait context.Context, logger *slog.Logger) error {
	if !f.longLived || f.keeper != nil {
		return nil
	}
	c, err := f.Connect(wait, f.reads)
	if err == nil {
		f.keeper = &keeper{path: f.Path, logger: logger, work: make(chan struct{}, 1), done: make(chan struct{}), conn: c}
		go f.keeper.run()
	}
	return err
}

// CheckpointIfLong keeps the log short after a commit. It ignores errors: the commit is already safe, and
// the next Tidy tries again.
func (f *File) CheckpointIfLong() {
	if f.longLived {
		f.keeper.wake()
		return
	}
	if Size(f.Path+"-wal") > shortLog {
		_, _ = f.write.Exec(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
}

// Connect opens a connection with these parameters, and by that reads the file for the first
// time.
func (f *File) Connect(wait context.Context, params url.Values) (c *Conn, err error) {
	err = WhileBusy(wait, func() error {
		c, err = Connect(f.dsn(params))
		return err
	})
	if err == nil { // from now on SQLite does not replace the log
		c.log, _ = os.Lstat(f.Path + "-wal")
	}
	return c, err
}

// Limits of the write-ahead log in pages. At a thousand pages SQLite itself would checkpoint
// the log, and delay the write that reaches that.
const (
	longLog    = 1000        // pages not checkpointed, at which the keeper makes a checkpoint
	endlessLog = 4 * longLog // pages in total, at which the keeper stops writers: its checkpoints do not catch up
)

// A keeper checkpoints the write-ahead log of a long-lived process into the
// database, on its own connection, so that no write waits for it.
type keeper struct {
	path   string
	logger *slog.Logger
	work   chan struct{} // holds a token after a commit; closed to stop
	done   chan struct{}
	conn   *Conn
}

// wake notifies the keeper of a commit.
func (k *keeper) wake() {
	select {
	case k.work <- struct{}{}:
	default:
	}
}

// stop ends the keeper after its current work. It does nothing if k is nil.
func (k *keeper) stop() error {
	if k == nil {
		return nil
	}
	close(k.work)
	<-k.done
	return k.conn.Close()
}

func (k *keeper) run() {
	defer close(k.done)
	for range k.work {
		if err := k.checkpoint(); err != nil {
			k.logger.Warn("checkpoint", "file", k.path, "error", err)
		}
	}
}

// checkpoint checkpoints the log when it is long. Only a write that finds the whole log
// checkpointed restarts it, which may never happen under constant writes. The writers then
// wait while checkpoint does the rest, which is short.
func (k *keeper) checkpoint() error {
	pages, pending, err := k.pragma("NOOP")
	if err == nil && pending >= longLog {
		pages, pending, err = k.pragma("PASSIVE")
	}
	if err != nil || pages < endlessLog || pending == 0 {
		return err
	}
	wait, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	lock, err := lock.Acquire(wait, filepath.Join(filepath.Dir(k.path), LockName))
	if err != nil {
		return err
	}
	defer lock.Release()
	_, _, err = k.pragma("PASSIVE")
	return err
}

// pragma runs PRAGMA wal_checkpoint and returns how many pages the log has, and how many of
// them are not checkpointed.
func (k *keeper) pragma(mode string) (pages, pending int, err error) {
	var busy, done int
	err = k.conn.Get(context.Background(), []any{&busy, &pages, &done}, "PRAGMA wal_checkpoint("+mode+")")
	return pages, pages - done, err
}
