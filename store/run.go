package store

import (
	"context"
	"errors"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"flame/project"
	"flame/store/disk"
	"flame/store/schema"
	"flame/store/trouble"
)

// errWrites ends a transaction that began as a View and cannot continue as an
// Update.
var errWrites = errors.New("store: this must begin as an Update")

// Run runs f on a snapshot, as View does, as long as it only reads. Its first
// write waits for the lock and continues in the same transaction; if another
// process has written since, or there is no file yet, f runs again as in
// Update. Trouble with the file is a core.Problem of kind ErrUnavailable.
func (s *Store) Run(ctx context.Context, f func(project.Tx) error) error {
	if ctx.Value(mark{s}) != nil {
		return errNested
	}
	wait, cancel := context.WithTimeout(ctx, s.opts.LockTimeout)
	defer cancel()
	return trouble.Of(ctx, s.path(), s.run(ctx, wait, f))
}

func (s *Store) run(ctx, wait context.Context, f func(project.Tx) error) error {
	connect := s.reader
	if s.opts.LongLived {
		if !s.takeIdle(wait) {
			return s.runApart(ctx, wait, f)
		}
		connect = s.file.Writer // open, and so nobody replaces the file
	} else if err := s.writing.Take(wait); err != nil {
		return err
	}
	defer s.writing.Give()
	var lock *disk.Lock
	defer func() { lock.Release() }()
	take := func() (err error) {
		lock, err = s.lock(wait, time.Now())
		return err
	}
	err := s.attempt(ctx, wait, f, connect, take)
	if !errors.Is(err, errWrites) && !errors.Is(err, schema.ErrOlder) {
		return err
	}
	if lock == nil {
		if err := take(); err != nil {
			return err
		}
	}
	return s.commit(ctx, wait, f)
}

// takeIdle takes the turn for writing if nobody writes, and reports whether it did: then
// the connection that writes can read too, so that f need not run again to write.
func (s *Store) takeIdle(wait context.Context) bool {
	if !s.writing.TakeFree() {
		return false
	}
	if s.enter(wait) == nil {
		ready := s.file != nil && s.file.Current && s.file.Writes()
		s.opening.Give()
		if ready {
			return true
		}
	}
	s.writing.Give()
	return false
}

// runApart is Run if readers have a separate connection, which cannot write.
func (s *Store) runApart(ctx, wait context.Context, f func(project.Tx) error) error {
	err := s.reading.Take(wait)
	if err == nil {
		err = s.attempt(ctx, wait, f, s.reader, nil)
		s.reading.Give()
	}
	if errors.Is(err, errWrites) || errors.Is(err, schema.ErrOlder) {
		err = s.update(ctx, wait, f)
	}
	return err
}

// attempt runs f on a snapshot of c. take takes the lock at its first write; if it is nil the
// write ends the attempt. The caller holds the turn for c.
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

// stale reports whether err, of the first write, means that another process has
// written since the snapshot was taken.
func stale(err error) bool { return disk.Code(err) == sqlite3.SQLITE_BUSY }
