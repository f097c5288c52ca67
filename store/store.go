package store

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"flame/project"
	"flame/store/disk"
	"flame/store/schema"
	"flame/store/trouble"
)

// DefaultLockTimeout is how long View and Update wait for their turn.
const DefaultLockTimeout = 10 * time.Second

// Options says how a Store works. The zero value suits a short command.
type Options struct {
	// LongLived is for servers: reads have a separate connection, and the
	// write-ahead log is checkpointed in the background rather than by the
	// write that made it long.
	LongLived bool
	// Ready reports whether the data folder is usable, and creates it if it is
	// to be written to; nil creates a missing one.
	Ready func(ctx context.Context, write bool) (there bool, err error)
	// LockTimeout bounds the wait for other writers; 0 is DefaultLockTimeout.
	LockTimeout time.Duration
	// Logger receives migrations and trouble that no caller hears of; nil
	// discards them.
	Logger *slog.Logger
}

// A Store is a project.Store on the file flame.db of one folder, for any number
// of goroutines. It opens that file at its first use.
//
// A process that is about to end need not call Close: each write is on disk
// already, and leaving the write-ahead log to the next process saves the syncs
// with which SQLite closes.
type Store struct {
	dir    string
	opts   Options
	schema schema.Schema

	writing disk.Turn // of the running Update
	reading disk.Turn // of the running View; without LongLived the same as writing

	waited atomic.Int64 // ns that Updates waited for their turn and the lock

	opening disk.Turn  // guards what follows
	file    *disk.File // nil until the first use that finds or creates it
	empty   *disk.Conn // what a View of a project without data sees
	closed  bool
}

var _ project.Waiter = (*Store)(nil)

// Open returns the Store of the data folder dir. It reads and creates nothing
// before the first View or Update.
func Open(dir string, opts Options) *Store {
	if opts.LockTimeout <= 0 {
		opts.LockTimeout = DefaultLockTimeout
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{dir: absolute(dir), opts: opts, schema: schema.Newest, opening: disk.NewTurn(), writing: disk.NewTurn()}
	s.reading = s.writing
	if opts.LongLived {
		s.reading = disk.NewTurn()
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

// mark is the key under which a Tx's context names its Store, so that a nested
// call fails at once and not only at the deadline.
type mark struct{ *Store }

func (s *Store) newTx(ctx context.Context, c *disk.Conn, writable bool) *tx {
	return &tx{
		sql:   &statements{ctx: context.WithValue(ctx, mark{s}, true), c: c, writable: writable, keys: map[string]int64{}},
		older: c.Older || s.schema.Version < withCascades,
	}
}

// View runs f on one consistent snapshot. A project without data is empty, and
// stays so. Trouble with the file is a core.Problem of kind ErrUnavailable.
func (s *Store) View(ctx context.Context, f func(project.Tx) error) error {
	if ctx.Value(mark{s}) != nil {
		return errNested
	}
	wait, cancel := context.WithTimeout(ctx, s.opts.LockTimeout)
	defer cancel()
	return trouble.Of(ctx, s.path(), s.view(ctx, wait, f))
}

func (s *Store) view(ctx, wait context.Context, f func(project.Tx) error) error {
	err := s.viewOnce(ctx, wait, f)
	if errors.Is(err, schema.ErrOlder) {
		if err = s.update(ctx, wait, func(project.Tx) error { return nil }); err == nil {
			err = s.viewOnce(ctx, wait, f)
		}
	}
	return err
}

func (s *Store) viewOnce(ctx, wait context.Context, f func(project.Tx) error) error {
	if err := s.reading.Take(wait); err != nil {
		return err
	}
	defer s.reading.Give()
	c, err := s.reader(wait)
	if err != nil {
		return err
	}
	return c.Transact(wait, disk.BeginView, func() error { return call(s.newTx(ctx, c, false), f) })
}

// Update runs f in one transaction: everything f wrote is on disk when Update
// returns nil, and nothing of it is kept otherwise. It creates the data folder
// at its first use. Trouble with the file is a core.Problem of kind
// ErrUnavailable.
func (s *Store) Update(ctx context.Context, f func(project.Tx) error) error {
	if ctx.Value(mark{s}) != nil {
		return errNested
	}
	wait, cancel := context.WithTimeout(ctx, s.opts.LockTimeout)
	defer cancel()
	return trouble.Of(ctx, s.path(), s.update(ctx, wait, f))
}

func (s *Store) update(ctx, wait context.Context, f func(project.Tx) error) error {
	began := time.Now()
	if err := s.writing.Take(wait); err != nil {
		return err
	}
	defer s.writing.Give()
	lock, err := s.lock(wait, began)
	if err != nil {
		return err
	}
	defer lock.Release()
	return s.commit(ctx, wait, f)
}

// lock takes the lock that orders the writers of all processes, having waited
// since began.
func (s *Store) lock(wait context.Context, began time.Time) (*disk.Lock, error) {
	if err := s.prepareDir(wait); err != nil {
		return nil, err
	}
	lock, err := disk.TakeLock(wait, filepath.Join(s.dir, disk.LockName))
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
	opened.Tidy()
	return nil
}

// Waited returns how long this process's Updates have waited to begin, in
// total.
func (s *Store) Waited() time.Duration { return time.Duration(s.waited.Load()) }

// Close ends the Store after the running View and Update. Later calls fail.
func (s *Store) Close() error {
	for _, t := range s.turns() {
		if err := t.Take(context.Background()); err != nil {
			return err
		}
		defer t.Give()
	}
	err := errors.Join(s.file.Close(), s.empty.Close())
	s.file, s.empty, s.closed = nil, nil, true
	return err
}

// turns lists each turn once, in the order in which they may be held together.
func (s *Store) turns() []disk.Turn {
	if s.opts.LongLived {
		return []disk.Turn{s.writing, s.reading, s.opening}
	}
	return []disk.Turn{s.writing, s.opening}
}
