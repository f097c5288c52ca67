package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

func (s *Store) path() string { return filepath.Join(s.dir, fileName) }

// prepareDir makes the data folder, unless the database was opened in it before:
// then it must still be there.
func (s *Store) prepareDir(wait context.Context) error {
	if err := s.opening.take(wait); err != nil {
		return err
	}
	defer s.opening.give()
	if s.file != nil {
		return s.file.check()
	}
	if err := checkFilesystem(s.dir); err != nil {
		return err
	}
	return makeDir(s.dir)
}

// writer gives the open file with its connection for Update, made and migrated
// as need be. The caller holds the lock.
func (s *Store) writer(wait context.Context) (*file, error) {
	if err := s.opening.take(wait); err != nil {
		return nil, err
	}
	defer s.opening.give()
	if err := s.open(true); err != nil {
		return nil, err
	}
	f := s.file
	c, err := f.writer(wait)
	if err == nil && !f.current {
		err = s.bringUpToDate(wait, f, c)
	}
	if err == nil {
		err = f.startKeeper(wait, s.opts.Logger)
	}
	if err != nil {
		return nil, s.failed(err)
	}
	return f, nil
}

// reader gives the connection for View, or errOlder if the file must be migrated
// first. The caller holds the turn for reading.
func (s *Store) reader(wait context.Context) (*conn, error) {
	if err := s.opening.take(wait); err != nil {
		return nil, err
	}
	defer s.opening.give()
	if s.file != nil && s.file.immutable { // what is not watched may have changed
		if err := s.drop(); err != nil {
			return nil, err
		}
	}
	if err := s.open(false); err != nil || s.file == nil {
		return s.nothing(wait, err)
	}
	c, err := s.file.reader(wait)
	if err != nil || s.file.current {
		return c, s.failed(err)
	}
	version, err := s.schema.of(wait, c)
	if errors.Is(err, errOlder) && s.file.immutable {
		c.older = true
		return c, nil // it can only be read: reading does without what the steps add
	}
	if err != nil {
		return nil, s.failed(err)
	}
	if version == 0 { // it is being made, or that was killed
		return s.nothing(wait, s.drop())
	}
	s.file.current = true
	return c, nil
}

// open sees to it that s.file is the file that is there; nil for none, unless it
// is to be made.
func (s *Store) open(create bool) (err error) {
	if s.closed {
		return errClosed
	}
	if s.file != nil {
		return s.file.check()
	}
	if err := checkFilesystem(s.dir); err != nil {
		return err
	}
	s.file, err = openFile(s.path(), s.opts.LongLived, create)
	return err
}

// failed drops a file with which nothing has been done yet, so that the next use
// begins anew, and gives err.
func (s *Store) failed(err error) error {
	if err == nil || s.file.current {
		return err
	}
	return errors.Join(err, s.drop())
}

func (s *Store) drop() error {
	f := s.file
	s.file = nil
	return f.close()
}

// nothing gives the connection to a project without data, unless err tells of
// something else.
func (s *Store) nothing(wait context.Context, err error) (*conn, error) {
	if err != nil || s.empty != nil {
		return s.empty, err
	}
	c, err := connect(wait, ":memory:")
	if err != nil {
		return nil, err
	}
	if err := s.schema.apply(wait, c, 0); err != nil {
		return nil, errors.Join(err, c.close())
	}
	s.empty = c
	return c, nil
}

// makeDir makes the data folder unless there is one. Its .gitignore names what
// flame keeps there, so that the definitions agents/*.md can be committed.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	ignore := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	if err := os.WriteFile(ignore, []byte(ignored), 0o600); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// ignored leaves out definitions of agents, which may be committed. It ignores itself,
// or git would tell of it; where it is missing, it is made anew.
const ignored = ".gitignore\nflame.db*\nflame.lock\nflame.log*\nagents/*/\n"

// syncDir makes the entries of a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// size gives the size of the file at path in bytes; 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
