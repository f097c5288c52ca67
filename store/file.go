package store

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileName is the database; SQLite keeps its log and its shared memory beside
// it.
const fileName = "flame.db"

// A file is the database while it is open.
type file struct {
	path      string
	longLived bool
	reads     url.Values // of the connection string of a reader of its own
	header    *header
	write     *conn // nil until needed
	read      *conn // nil until needed; without reads the same as write
	current   bool  // of this schema version
	immutable bool  // read as if nothing could change it, see reader
	keeper    *keeper
}

// errGone is what use of a file that was removed or replaced ends with.
var errGone = errors.New("the data folder was removed or replaced while flame was running")

// openFile opens the database at path; nil for none.
func openFile(path string, longLived bool) (*file, error) {
	// Else any close of a descriptor of this file drops SQLite's locks on it.
	// Where this is not to be had, header stays open instead.
	_, _ = sqlite.OFDLocking(true)
	h, err := readHeader(path)
	if err != nil || h == nil {
		return nil, err
	}
	f := &file{path: path, longLived: longLived, header: h}
	if longLived {
		f.reads = url.Values{"_query_only": {"1"}}
	}
	return f, nil
}

// openReadOnly opens the database at path to be read only; nil for none.
func openReadOnly(path string) (*file, error) {
	h, err := readHeader(path)
	if err != nil || h == nil {
		return nil, err
	}
	return &file{path: path, header: h, reads: url.Values{"mode": {"ro"}}}, nil
}

// newFile returns the file that is to be made at path.
func newFile(path string) *file { return &file{path: path} }

// check reports whether the path still is the open file, and the log's the one that
// writes go into. What is written into a file that is no longer there is lost.
func (f *file) check() error { return f.checkFor(f.write) }

// checkFor reports the same of the log that c has open.
func (f *file) checkFor(c *conn) error {
	info, err := os.Lstat(f.path)
	if err != nil || !os.SameFile(info, f.header.info) {
		return goneUnless(err)
	}
	if !c.usable() {
		return nil
	}
	log, err := os.Lstat(f.path + "-wal")
	if c.log == nil { // there was none when c was opened
		c.log = log
		return nil
	}
	if err != nil || !os.SameFile(log, c.log) {
		return goneUnless(err)
	}
	return nil
}

// goneUnless returns errGone, unless err says that it is not known.
func goneUnless(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	return err
}

// close closes what is open; a nil file is closed already.
func (f *file) close() error {
	if f == nil {
		return nil
	}
	err := f.keeper.stop()
	if f.read != f.write {
		err = errors.Join(err, f.read.close())
	}
	return errors.Join(err, f.write.close(), f.header.file.Close())
}

// writer returns the connection for Update.
func (f *file) writer(wait context.Context) (c *conn, err error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if !f.write.usable() {
		f.write, err = f.connect(wait, nil)
	}
	return f.write, err
}

// reader returns the connection for View. Where SQLite may not make the files it
// needs beside the database, and no log or journal is to be minded, the database
// is read as it stands.
func (f *file) reader(wait context.Context) (c *conn, err error) {
	if f.immutable { // what is not watched may have changed
		if err := f.read.close(); err != nil {
			return nil, err
		}
		f.immutable = false
	}
	if err := f.checkFor(f.read); err != nil {
		return nil, err
	}
	switch {
	case f.read.usable():
		return f.read, nil
	case f.reads != nil:
		f.read, err = f.connect(wait, f.reads)
	default:
		f.read, err = f.writer(wait)
	}
	if err != nil && deniedFiles(err) && size(f.path+"-wal")+size(f.path+"-journal") == 0 {
		f.immutable = true
		f.read, err = f.connect(wait, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	}
	return f.read, err
}

// deniedFiles reports whether SQLite could not make or open a file.
func deniedFiles(err error) bool {
	switch resultCode(err) {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return true
	}
	return false
}

// dsn returns the connection string. The pragmas stand in it so that every
// connection has them. The file is never made by SQLite; waiting for other
// processes is left to whileBusy, which minds the context; checkpoints are made
// by tidy and by the keeper.
func (f *file) dsn(params url.Values) string {
	query := url.Values{
		"mode":          {"rw"},
		"_busy_timeout": {"10"}, // ms
		"_synchronous":  {"FULL"},
		"_pragma":       {"temp_store(MEMORY)", "wal_autocheckpoint(0)"},
	}
	if f.longLived { // it has three connections, each with a cache of 2 MB otherwise
		query.Add("_pragma", "cache_size(-1000)") // KB
	}
	for key, values := range params {
		query[key] = values
	}
	return (&url.URL{Scheme: "file", Path: f.path, RawQuery: query.Encode()}).String()
}

// shortLog is the size in bytes of the write-ahead log from which a short
// process works it into the database and empties it. As long as no process
// stays, each new one reads all of the log; and because it then counts as not
// yet worked in, a checkpoint that leaves it full would never end its growth.
const shortLog = 64 * (4096 + 24)

// tidy keeps the log short after a commit. What was committed is safe, so that
// trouble is left to the next commit.
func (f *file) tidy() {
	if f.longLived {
		f.keeper.wake()
		return
	}
	if size(f.path+"-wal") > shortLog {
		_, _ = f.write.exec(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
}

// connect opens a connection with these parameters, which looks into the file for
// the first time.
func (f *file) connect(wait context.Context, params url.Values) (c *conn, err error) {
	err = whileBusy(wait, func() error {
		c, err = connect(f.dsn(params))
		return err
	})
	if err == nil { // SQLite does not replace the log from now on
		c.log, _ = os.Lstat(f.path + "-wal")
	}
	return c, err
}
