package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"strconv"

	sqlite3 "modernc.org/sqlite/lib"

	"flame/project"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// A schema is the tables of a version, which the file keeps as PRAGMA
// user_version. Each step leads there from the version before and only adds, so
// that older binaries go on working unless meta's row "oldest" says otherwise.
type schema struct {
	version int
	step    func(version int) (sql string, err error)
}

// newest is the schema of this binary.
var newest = schema{version: 3, step: func(version int) (string, error) {
	sql, err := schemaFiles.ReadFile(fmt.Sprintf("schema/%d.sql", version))
	return string(sql), err
}}

// What a file's version calls for.
var (
	errOlder   = errors.New("the file is of an older version")
	errNewer   = errors.New("the file needs a newer flame")
	errForeign = errors.New("the file is another program's database")
)

// of gives the version of a file, 0 if nothing is in it, or says why it cannot be
// used as it is.
func (s schema) of(ctx context.Context, c *conn) (version int, err error) {
	if err := c.get(ctx, []any{&version}, "PRAGMA user_version"); err != nil || version == s.version {
		return version, err
	}
	var objects, oldest int
	if version == 0 {
		err = c.get(ctx, []any{&objects}, "SELECT count(*) FROM sqlite_schema")
		if err == nil && objects > 0 {
			err = errForeign
		}
		return 0, err
	}
	err = c.get(ctx, []any{&oldest}, "SELECT value FROM meta WHERE name = 'oldest'")
	if resultCode(err) == sqlite3.SQLITE_ERROR { // there is no such table
		err = errForeign
	}
	if err != nil {
		return 0, err
	}
	switch {
	case oldest > s.version:
		return version, fmt.Errorf("%w: it is of version %d, this flame knows %d", errNewer, version, s.version)
	case version < s.version:
		return version, errOlder
	}
	return version, nil
}

// bringUpToDate makes the schema of a new file and migrates an older one, which
// is copied to a file beside it first. The caller holds the lock.
func (s *Store) bringUpToDate(ctx context.Context, f *file, c *conn) error {
	version, err := s.schema.of(ctx, c)
	switch {
	case errors.Is(err, errOlder):
		if err = backup(ctx, c, s.path()+backupSuffix+strconv.Itoa(version)); err == nil {
			err = s.migrate(ctx, c, version)
		}
	case err == nil && version == 0:
		if err = useLog(ctx, c); err == nil {
			err = s.migrate(ctx, c, version)
		}
	}
	f.current = err == nil
	return err
}

// useLog sets the file to a write-ahead log, for good. It cannot be part of a
// transaction.
func useLog(ctx context.Context, c *conn) error {
	var mode string
	err := c.get(ctx, []any{&mode}, "PRAGMA journal_mode = WAL")
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the database has the journal mode %q instead of wal", mode)
	}
	return err
}

// migrate brings the file from version to the newest, in one transaction.
func (s *Store) migrate(ctx context.Context, c *conn, version int) error {
	s.opts.Logger.Info("making the database", "file", s.path(), "from", version, "to", s.schema.version)
	return c.transact(ctx, beginUpdate, s.newTx(ctx, c, true), func(project.Tx) error {
		return s.schema.apply(ctx, c, version)
	})
}

// apply runs the steps that lead on from version.
func (s schema) apply(ctx context.Context, c *conn, version int) error {
	for v := version + 1; v <= s.version; v++ {
		step, err := s.step(v)
		if err != nil {
			return err
		}
		if _, err := c.raw.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("schema %d: %w", v, err)
		}
	}
	_, err := c.raw.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", s.version))
	return err
}

// backupSuffix and the version follow the name of the database.
const backupSuffix = ".backup-"

// backup copies the database to path, all of it or nothing.
func backup(ctx context.Context, c *conn, path string) error {
	unfinished := path + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if _, err := c.raw.ExecContext(ctx, "VACUUM INTO ?", unfinished); err != nil {
		return fmt.Errorf("backup to %s: %w", path, err)
	}
	return os.Rename(unfinished, path)
}
