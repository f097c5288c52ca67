package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"flame/core"
	"flame/store/disk"
)

// statements runs SQL in one transaction.
type statements struct {
	ctx      context.Context
	c        *disk.Conn
	writable bool
	promote  func() error     // turns a reading transaction into a writing one; nil if that is refused
	keys     map[string]int64 // keys of ids seen in this transaction
	failed   error            // the first error of a statement; it may have ended the transaction
}

var errReadOnlyTx = errors.New("store: write inside a View")

// exec runs a statement that writes and returns the number of rows it changed.
func (s *statements) exec(query string, args ...any) (int64, error) {
	result, err := s.run(query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert runs an INSERT and returns the key of the new row.
func (s *statements) insert(query string, args ...any) (int64, error) {
	result, err := s.run(query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// run runs a writing statement. After an error of SQLite, or an interrupted
// statement, none runs: if that has undone the transaction, the next write
// would be outside it.
func (s *statements) run(query string, args ...any) (driver.Result, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	if s.writable {
		result, err := s.c.Exec(s.ctx, query, args...)
		return result, s.note(err)
	}
	return s.firstWrite(query, args...)
}

// firstWrite is run for a transaction that has only read so far.
func (s *statements) firstWrite(query string, args ...any) (result driver.Result, err error) {
	if s.promote == nil {
		return nil, errReadOnlyTx
	}
	if err = s.promote(); err == nil {
		s.writable = true
		if result, err = s.c.Exec(s.ctx, query, args...); stale(err) {
			err = errWrites
		}
	}
	if s.failed == nil {
		s.failed = err
	}
	return result, err
}

func (s *statements) note(err error) error {
	if s.failed == nil && err != nil && (disk.Code(err) != 0 || s.ctx.Err() != nil) {
		s.failed = err
	}
	return err
}

// get scans the one row of query into dest and reports whether there is one.
func (s *statements) get(dest []any, query string, args ...any) (bool, error) {
	err := s.c.Get(s.ctx, dest, s.fit(query), args...)
	if errors.Is(err, disk.ErrNoRow) {
		return false, nil
	}
	return err == nil, s.note(err)
}

// each calls scan on every row of query.
func (s *statements) each(scan func(*disk.Rows) error, query string, args ...any) error {
	rows, err := s.c.Query(s.ctx, s.fit(query), args...)
	if err != nil {
		return s.note(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.ctx.Err(); err != nil {
			return s.note(err)
		}
		if err := scan(rows); err != nil {
			return err
		}
	}
	return s.note(rows.Err())
}

// fit returns a query as a file can answer it that lacks what newer schemas have.
func (s *statements) fit(query string) string {
	if !s.c.Older {
		return query
	}
	return strings.ReplaceAll(query, "f.machine AS machine", "'' AS machine")
}

// collect returns every row of query as scan reads it.
func collect[T any](s *statements, scan func(*disk.Rows) (T, error), query string, args ...any) ([]T, error) {
	var list []T
	err := s.each(func(rows *disk.Rows) error {
		v, err := scan(rows)
		list = append(list, v)
		return err
	}, query, args...)
	return list, err
}

// only returns what was read of the kind with this id, or core.ErrNotFound.
func only[T any](list []T, err error, kind, id string) (one T, _ error) {
	if err == nil && len(list) == 0 {
		err = core.NotFoundf("%s %s not found", kind, id)
	}
	return append(list, one)[0], err
}
