package disk

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed schema/*.sql
var files embed.FS

// checks adds constraints to the tables, one in each statement.
//
//go:embed schema/checks.sql
var checks string

// constrained is the first version whose tables have constraints.
const constrained = 8

// A Schema is the tables of a version, which the file keeps as PRAGMA user_version. Each step
// leads to a version from the previous one. It only adds, so that older binaries still work
// unless meta's row "oldest" says otherwise.
type Schema struct {
	Version int
	Step    func(version int) (sql string, err error)
}

// NewestSchema is the schema of this binary.
var NewestSchema = Schema{Version: 11, Step: func(version int) (string, error) {
	sql, err := files.ReadFile(fmt.Sprintf("schema/%d.sql", version))
	return string(sql), err
}}

// Errors about the version of a file.
var (
	ErrOlder    = errors.New("the file is of an older version")
	ErrNewer    = errors.New("the file needs a newer flame")
	ErrNotFlame = errors.New("the file is another program's database")
)

// Of returns the version of a file, 0 if it is empty, or an error that says why the file
// cannot be used unchanged. It uses one snapshot: another process may be creating the file.
func (s Schema) Of(wait context.Context, c *Conn) (version int, err error) {
	err = c.Transact(wait, BeginView, func() error {
		version, err = s.judge(c)
		return err
	})
	return version, err
}

func (s Schema) judge(c *Conn) (version int, err error) {
	ctx := context.Background()
	if err := c.Get(ctx, []any{&version}, "PRAGMA user_version"); err != nil {
		return 0, err
	}
	var objects, oldest int
	if version == 0 {
		err = c.Get(ctx, []any{&objects}, "SELECT count(*) FROM sqlite_schema")
		if err == nil && objects > 0 {
			err = ErrNotFlame
		}
		return 0, err
	}
	err = c.Get(ctx, []any{&oldest}, "SELECT value FROM meta WHERE name = 'oldest'")
	switch {
	case Code(err) == sqlite3.SQLITE_ERROR, errors.Is(err, ErrNoRow): // no such table, or row
		return 0, ErrNotFlame
	case err != nil:
		return 0, err
	case oldest > s.Version:
		return version, fmt.Errorf("%w: it is of version %d, this flame knows %d", ErrNewer, version, s.Version)
	case version < s.Version:
		return version, ErrOlder
	}
	return version, nil
}

// Apply runs the steps after version.
func (s Schema) Apply(ctx context.Context, c *Conn, version int) error {
	for v := version + 1; v <= s.Version; v++ {
		step, err := s.Step(v)
		if err != nil {
			return err
		}
		if err := c.ExecOnce(ctx, step); err != nil {
			return fmt.Errorf("schema %d: %w", v, err)
		}
		if v == constrained {
			if err := constrain(ctx, c); err != nil {
				return err
			}
		}
	}
	return c.ExecOnce(ctx, fmt.Sprintf("PRAGMA user_version = %d", s.Version))
}

// constrain adds the constraints. It leaves one out if rows break it: another program wrote
// them. Flame reads such rows as far as it can, and doctor names them.
func constrain(ctx context.Context, c *Conn) error {
	for check := range strings.SplitSeq(strings.TrimSpace(checks), ";\n") {
		if err := c.ExecOnce(ctx, check); err != nil && Code(err) != sqlite3.SQLITE_CONSTRAINT {
			return fmt.Errorf("constraints: %w", err)
		}
	}
	return nil
}
