package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"flame/store/disk"
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

// of returns the version of a file, 0 if nothing is in it, or says why it cannot be
// used as it is. It judges by one snapshot: another process may be making the file.
func (s schema) of(wait context.Context, c *disk.Conn) (version int, err error) {
	err = c.Transact(wait, disk.BeginView, func() error {
		version, err = s.judge(c)
		return err
	})
	return version, err
}

func (s schema) judge(c *disk.Conn) (version int, err error) {
	ctx := context.Background()
	if err := c.Get(ctx, []any{&version}, "PRAGMA user_version"); err != nil {
		return 0, err
	}
	var objects, oldest int
	if version == 0 {
		err = c.Get(ctx, []any{&objects}, "SELECT count(*) FROM sqlite_schema")
		if err == nil && objects > 0 {
			err = errForeign
		}
		return 0, err
	}
	err = c.Get(ctx, []any{&oldest}, "SELECT value FROM meta WHERE name = 'oldest'")
	switch {
	case disk.Code(err) == sqlite3.SQLITE_ERROR, errors.Is(err, sql.ErrNoRows): // no such table, or row
		return 0, errForeign
	case err != nil:
		return 0, err
	case oldest > s.version:
		return version, fmt.Errorf("%w: it is of version %d, this flame knows %d", errNewer, version, s.version)
	case version < s.version:
		return version, errOlder
	}
	return version, nil
}

// apply runs the steps that lead on from version.
func (s schema) apply(ctx context.Context, c *disk.Conn, version int) error {
	for v := version + 1; v <= s.version; v++ {
		step, err := s.step(v)
		if err != nil {
			return err
		}
		if _, err := c.Raw.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("schema %d: %w", v, err)
		}
	}
	_, err := c.Raw.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", s.version))
	return err
}
