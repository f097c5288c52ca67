package store

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"flame/store/disk"
)

func (s *Store) path() string { return filepath.Join(s.dir, disk.Name) }

// enter takes the turn for opening.
func (s *Store) enter(wait context.Context) error {
	err := s.opening.Lock(wait)
	if err == nil && s.closed {
		s.opening.Unlock()
		err = errClosed
	}
	return err
}

// prepareDir creates the data folder. If the Store has already opened the database, the
// folder must still exist.
func (s *Store) prepareDir(wait context.Context) error {
	if err := s.enter(wait); err != nil {
		return err
	}
	defer s.opening.Unlock()
	if s.file != nil {
		return s.file.Check()
	}
	_, err := s.ready(wait, true)
	return err
}

// ready reports whether the data folder is usable, and with write creates a missing one.
func (s *Store) ready(wait context.Context, write bool) (there bool, err error) {
	if s.opts.Ready != nil {
		if there, err := s.opts.Ready(wait, write); !there || err != nil {
			return false, err
		}
	}
	if there, err = disk.CheckFolder(s.dir); there || err != nil || !write {
		return there, err
	}
	err = os.MkdirAll(s.dir, 0o700)
	return err == nil, err
}

// writer returns the open file and its connection for Update. It creates and migrates the
// file as needed. The caller holds the lock.
func (s *Store) writer(wait context.Context) (*disk.File, *disk.Conn, error) {
	if err := s.enter(wait); err != nil {
		return nil, nil, err
	}
	defer s.opening.Unlock()
	if err := s.openOrCreate(wait); err != nil {
		return nil, nil, err
	}
	f := s.file
	c, err := f.Writer(wait)
	if err == nil && !f.Current {
		err = s.bringUpToDate(wait, f, c)
	}
	if err == nil {
		err = f.StartCheckpointer(wait, s.opts.Logger)
	}
	if err != nil {
		return nil, nil, s.failed(err)
	}
	return f, c, nil
}

// openOrCreate makes s.file the current file, creating it if needed.
func (s *Store) openOrCreate(wait context.Context) error {
	if err := s.open(); err != nil || s.file != nil {
		return err
	}
	if err := s.create(wait); err != nil {
		return err
	}
	err := s.open()
	if err == nil && s.file == nil {
		err = disk.ErrGone
	}
	return err
}

// open makes s.file the current file, or nil if there is none.
func (s *Store) open() (err error) {
	if s.file == nil {
		s.file, err = disk.Open(s.path(), s.opts.LongLived)
	}
	return err
}

// reader returns the connection for View, or errOlder if the file must be migrated
// first. The caller holds the turn for reading.
func (s *Store) reader(wait context.Context) (*disk.Conn, error) {
	if err := s.enter(wait); err != nil {
		return nil, err
	}
	defer s.opening.Unlock()
	if err := s.look(wait); err != nil || s.file == nil {
		return s.nothing(err)
	}
	c, err := s.file.Reader(wait)
	if err != nil || s.file.Current {
		return c, s.failed(err)
	}
	version, err := s.schema.Of(wait, c)
	if errors.Is(err, disk.ErrOlder) && s.file.Immutable {
		return s.file.ReadCopy(wait, func(copied *disk.Conn) error { return s.migrate(wait, copied, version) })
	}
	if err != nil {
		return nil, s.failed(err)
	}
	if version == 0 { // another program is creating it, or was killed
		return s.nothing(s.drop())
	}
	s.file.Current = true
	return c, nil
}

// look opens the file, if the data folder and the file exist.
func (s *Store) look(wait context.Context) error {
	if s.file != nil {
		return nil
	}
	if there, err := s.ready(wait, false); err != nil || !there {
		return err
	}
	return s.open()
}

// failed returns err. It drops a file that was not used yet, so that the next use starts
// over.
func (s *Store) failed(err error) error {
	if err == nil || s.file.Current {
		return err
	}
	return errors.Join(err, s.drop())
}

func (s *Store) drop() error {
	f := s.file
	s.file = nil
	return f.Close()
}

// nothing returns the connection to a project without data, unless err is an error.
func (s *Store) nothing(err error) (*disk.Conn, error) {
	if err != nil || s.empty.Usable() {
		return s.empty, err
	}
	c, err := disk.Connect(":memory:")
	if err != nil {
		return nil, err
	}
	if err := s.schema.Apply(context.Background(), c, 0); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s.empty = c
	return c, nil
}

// create puts a complete new database into the data folder, so that no process
// meets a partial one. The caller holds the lock.
func (s *Store) create(wait context.Context) error {
	// SQLite would undo the new file with the journal that an empty file left.
	if err := os.RemoveAll(s.path() + "-journal"); err != nil {
		return err
	}
	return disk.CreateAtomic(s.path(), func(unfinished string) error {
		c, err := disk.New(unfinished).Connect(wait, url.Values{"_synchronous": {"OFF"}}) // CreateAtomic syncs it
		if err != nil {
			return err
		}
		if err = s.migrate(wait, c, 0); err == nil {
			err = c.UseLog(wait)
		}
		return errors.Join(err, c.Close())
	})
}

// bringUpToDate creates the schema of an empty file and migrates an older one,
// after copying it to a file beside it. The caller holds the lock.
func (s *Store) bringUpToDate(wait context.Context, f *disk.File, c *disk.Conn) error {
	version, err := s.schema.Of(wait, c)
	switch {
	case errors.Is(err, disk.ErrOlder):
		if err = c.CopyTo(wait, s.path()+disk.BeforeMigration+strconv.Itoa(version)); err == nil {
			err = s.migrate(wait, c, version)
		}
	case err == nil && version == 0:
		if err = c.UseLog(wait); err == nil {
			err = s.migrate(wait, c, version)
		}
	}
	f.Current = err == nil
	return err
}

// migrate brings the file from version to the newest, in one transaction.
func (s *Store) migrate(ctx context.Context, c *disk.Conn, version int) error {
	s.opts.Logger.Info("making the database", "file", s.path(), "from", version, "to", s.schema.Version)
	return c.Transact(ctx, disk.BeginUpdate, func() error { return s.schema.Apply(ctx, c, version) })
}
