// Package store keeps a project in one SQLite file: its frames, sessions, events, deadlines
// and records. Several processes use that file at once. When Update returns, its writes are
// on disk. The rules stay in core and project; SQL does not know them.
package store

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/local/lock"
	"flame/project"
	"flame/store/disk"
)

// DefaultLockTimeout is how long View and Update wait for their turn.
const DefaultLockTimeout = 10 * time.Second

// Options says how a Store works. The zero value suits a short command.
type Options struct {
	// LongLived is for servers: reads have a separate connection, and the
	// write-ahead log is checkpointed in the background rather than by the
	// write that made it long.
	LongLived bool
	// Ready reports whether the data folder is usable, and with write creates it. If it is
	// nil, the Store creates a missing folder.
	Ready func(ctx context.Context, write bool) (there bool, err error)
	// LockTimeout bounds the wait for other writers; 0 is DefaultLockTimeout.
	LockTimeout time.Duration
	// Logger receives migrations, and errors that no caller receives; nil discards them.
	Logger *slog.Logger
}

// A Store is a project.Store on the file flame.db of one folder, for any number
// of goroutines. It opens that file at its first use.
//
// A process that is about to end need not call Close: each write is already on disk, and
// leaving the write-ahead log to the next process saves the syncs of SQLite's close.
type Store struct {
	dir    string
	opts   Options
	schema disk.Schema

	writing lock.Mutex // of the running Update
	reading lock.Mutex // of the running View; without LongLived the same as writing

	waited atomic.Int64 // ns that Updates waited for their turn and the lock

	opening lock.Mutex // guards the fields below
	file    *disk.File // nil until the first use that finds or creates it
	empty   *disk.Conn // for a View of a project without data
	closed  bool
}

var _ project.WaitMeter = (*Store)(nil)

// Open returns the Store of the data folder dir. It reads and creates nothing
// before the first View or Update.
func Open(dir string, opts Options) *Store {
	if opts.LockTimeout <= 0 {
		opts.LockTimeout = DefaultLockTimeout
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{dir: absolute(dir), opts: opts, schema: disk.NewestSchema, opening: lock.NewTurn(), writing: lock.NewTurn()}
	s.reading = s.writing
	if opts.LongLived {
		s.reading = lock.NewTurn()
	}
	return s
}

// absolute returns dir as an absolute path, as SQLite requires in a URI. If
// that fails, the error of using it says why.
func absolute(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return dir
}

var (
	errNested = errors.New("store: View or Update inside a View or Update")
	errClosed = errors.New("store: closed")
)

// mark is the key under which a Tx's context names its Store, so that a nested call fails at
// once rather than at the deadline.
type mark struct{ *Store }

func (s *Store) newTx(ctx context.Context, c *disk.Conn, writable bool) *tx {
	return &tx{
		sql:     &statements{ctx: context.WithValue(ctx, mark{s}, true), c: c, writable: writable, keys: map[string]int64{}},
		records: map[recordKey]*record{}, changed: map[recordKey]bool{}, frames: map[string]core.Frame{},
	}
}

// View runs f on one consistent snapshot. It creates nothing: a project without data is
// empty. An error of the file is a core.Problem of kind ErrUnavailable.
func (s *Store) View(ctx context.Context, f func(project.Tx) error) error {
	return s.within(ctx, s.view, f)
}

// within runs f in a transaction that begin makes, unless ctx belongs to another transaction.
// begin gets a context that limits its wait.
func (s *Store) within(ctx context.Context, begin func(ctx, wait context.Context, f func(project.Tx) error) error, f func(project.Tx) error) error {
	if ctx.Value(mark{s}) != nil {
		return errNested
	}
	wait, cancel := context.WithTimeout(ctx, s.opts.LockTimeout)
	defer cancel()
	return disk.ExplainError(ctx, s.path(), begin(ctx, wait, f))
}

func (s *Store) view(ctx, wait context.Context, f func(project.Tx) error) error {
	err := s.viewOnce(ctx, wait, f)
	if errors.Is(err, disk.ErrOlder) {
		if err = s.update(ctx, wait, func(project.Tx) error { return nil }); err == nil {
			err = s.viewOnce(ctx, wait, f)
		}
	}
	return err
}

func (s *Store) viewOnce(ctx, wait context.Context, f func(project.Tx) error) error {
	if err := s.reading.Lock(wait); err != nil {
		return err
	}
	defer s.reading.Unlock()
	c, err := s.reader(wait)
	if err != nil {
		return err
	}
	return c.Transact(wait, disk.BeginView, func() error { return call(s.newTx(ctx, c, false), f) })
}

// Update runs f in one transaction: if Update returns nil, everything that f wrote is on
// disk; otherwise nothing is kept. It creates the data folder at its first use. An error of
// the file is a core.Problem of kind ErrUnavailable.
func (s *Store) Update(ctx context.Context, f func(project.Tx) error) error {
	return s.within(ctx, s.update, f)
}

func (s *Store) update(ctx, wait context.Context, f func(project.Tx) error) error {
	began := time.Now()
	if err := s.writing.Lock(wait); err != nil {
		return err
	}
	defer s.writing.Unlock()
	lock, err := s.lock(wait, began)
	if err != nil {
		return err
	}
	defer lock.Release()
	return s.commit(ctx, wait, f)
}

// lock takes the lock that orders the writers of all processes, having waited
// since began.
func (s *Store) lock(wait context.Context, began time.Time) (*lock.Lock, error) {
	if err := s.prepareDir(wait); err != nil {
		return nil, err
	}
	lock, err := lock.Acquire(wait, filepath.Join(s.dir, disk.LockName))
	s.waited.Add(int64(time.Since(began)))
	return lock, err
}

// commit is Update for a caller that holds the lock.
func (s *Store) commit(ctx, wait context.Context, f func(project.Tx) error) error {
	opened, c, err := s.writer(wait)
	if err != nil {
		return err
	}
	if err := c.Transact(wait, disk.BeginUpdate, func() error { return call(s.newTx(ctx, c, true), f) }); err != nil {
		return err
	}
	return committed(opened)
}

// committed finishes a commit into a file.
func committed(opened *disk.File) error {
	if err := opened.Check(); err != nil {
		return err // the write went into a file that is gone
	}
	opened.CheckpointIfLong()
	return nil
}

// LockWait returns the total wait of this process's Updates before they began.
func (s *Store) LockWait() time.Duration { return time.Duration(s.waited.Load()) }

// Close ends the Store after the running View and Update. Later calls fail.
func (s *Store) Close() error {
	for _, t := range lo.Uniq([]lock.Mutex{s.writing, s.reading, s.opening}) { // in the order in which they may be held together
		if err := t.Lock(context.Background()); err != nil {
			return err
		}
		defer t.Unlock()
	}
	err := errors.Join(s.file.Close(), s.empty.Close())
	s.file, s.empty, s.closed = nil, nil, true
	return err
}

// A tx is a project.Tx, which documents its methods.
type tx struct {
	sql     *statements
	records map[recordKey]*record // that were read or written one by one
	changed map[recordKey]bool    // those of which a part was changed
	frames  map[string]core.Frame // that were read one by one, and not written since
}

func (t *tx) Context() context.Context { return t.sql.ctx }

// call runs f in t and returns the reason not to commit, if any.
func call(t *tx, f func(project.Tx) error) error {
	err := f(t)
	if err == nil {
		err = t.writeParts()
	}
	if errors.Is(t.sql.failed, errWrites) {
		return errWrites // f may return another error, or none
	}
	if err == nil {
		err = cmp.Or(t.sql.failed, t.sql.ctx.Err())
	}
	if err != nil {
		return disk.CallbackError{Err: err}
	}
	return nil
}

// errWrites ends a transaction that began as a View and cannot continue as an
// Update.
var errWrites = errors.New("store: this must begin as an Update")

// Run runs f on a snapshot, like View, while f only reads. The first write waits for the lock
// and continues in the same transaction. If another process has written since, or there is
// no file yet, f runs again, like in Update. An error of the file is a core.Problem of kind
// ErrUnavailable.
func (s *Store) Run(ctx context.Context, f func(project.Tx) error) error {
	return s.within(ctx, s.run, f)
}

func (s *Store) run(ctx, wait context.Context, f func(project.Tx) error) error {
	connect := s.reader
	if s.opts.LongLived {
		if !s.takeIdle(wait) {
			return s.runApart(ctx, wait, f)
		}
		connect = s.file.Writer // open, so no process replaces the file
	} else if err := s.writing.Lock(wait); err != nil {
		return err
	}
	defer s.writing.Unlock()
	var lock *lock.Lock
	defer func() { lock.Release() }()
	take := func() (err error) {
		lock, err = s.lock(wait, time.Now())
		return err
	}
	err := s.attempt(ctx, wait, f, connect, take)
	if !errors.Is(err, errWrites) && !errors.Is(err, disk.ErrOlder) {
		return err
	}
	if lock == nil {
		if err := take(); err != nil {
			return err
		}
	}
	return s.commit(ctx, wait, f)
}

// takeIdle takes the turn for writing if it is free, and reports whether it did: then
// the connection that writes can read too, so that f need not run again to write.
func (s *Store) takeIdle(wait context.Context) bool {
	if !s.writing.TryLock() {
		return false
	}
	if s.enter(wait) == nil {
		ready := s.file != nil && s.file.Current && s.file.Writes()
		s.opening.Unlock()
		if ready {
			return true
		}
	}
	s.writing.Unlock()
	return false
}

// runApart is Run if readers have a separate connection, which cannot write.
func (s *Store) runApart(ctx, wait context.Context, f func(project.Tx) error) error {
	err := s.reading.Lock(wait)
	if err == nil {
		err = s.attempt(ctx, wait, f, s.reader, nil)
		s.reading.Unlock()
	}
	if errors.Is(err, errWrites) || errors.Is(err, disk.ErrOlder) {
		err = s.update(ctx, wait, f)
	}
	return err
}

// attempt runs f on a snapshot of the connection that connect returns. take takes the lock at
// the first write; if take is nil, the write ends the attempt. The caller holds the turn for
// the connection.
func (s *Store) attempt(ctx, wait context.Context, f func(project.Tx) error, connect func(context.Context) (*disk.Conn, error), take func() error) error {
	c, err := connect(wait)
	if err != nil {
		return err
	}
	t := s.newTx(ctx, c, false)
	t.sql.promote = func() error {
		if take == nil || c == s.empty || s.file.Immutable {
			return errWrites
		}
		return take()
	}
	if err := c.Transact(wait, disk.BeginView, func() error { return call(t, f) }); err != nil || !t.sql.writable {
		return err
	}
	return committed(s.file)
}
