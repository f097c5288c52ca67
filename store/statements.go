package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/samber/lo"
	sqlite3 "modernc.org/sqlite/lib"

	"flame/core"
	"flame/store/disk"
)

// statements runs SQL in one transaction.
type statements struct {
	ctx      context.Context
	c        *disk.Conn
	writable bool
	promote  func() error     // turns a reading transaction into a writing one; nil if that is refused
	keys     map[string]int64 // keys of ids seen in this transaction; 0: the id has no key
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

// run runs a writing statement. After an error of SQLite, or an interrupted statement, it runs
// no other: the error may have undone the transaction, and the next write would be outside
// of it.
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
		if result, err = s.c.Exec(s.ctx, query, args...); disk.Code(err) == sqlite3.SQLITE_BUSY {
			err = errWrites // another process has written since the snapshot
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
	err := s.c.Get(s.ctx, dest, query, args...)
	if errors.Is(err, disk.ErrNoRow) {
		return false, nil
	}
	return err == nil, s.note(err)
}

// each calls scan on every row of query.
func (s *statements) each(scan func(*disk.Rows) error, query string, args ...any) error {
	rows, err := s.c.Query(s.ctx, query, args...)
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

// collect returns the rows of query, read by scan.
func collect[T any](s *statements, scan func(*disk.Rows) (T, error), query string, args ...any) ([]T, error) {
	var list []T
	err := s.each(func(rows *disk.Rows) error {
		v, err := scan(rows)
		list = append(list, v)
		return err
	}, query, args...)
	return list, err
}

// only returns the one value that was read, or core.ErrNotFound for its kind and id.
func only[T any](list []T, err error, kind, id string) (one T, _ error) {
	if err == nil && len(list) == 0 {
		err = core.NotFoundf("%s %s not found", kind, id)
	}
	return append(list, one)[0], err
}

// A table keeps values of T, one per row. All SQL that names its columns is made from this
// list, in its order, and so are the arguments and results of that SQL.
type table[T any] struct {
	name    string
	key     string // the columns that tell rows apart
	columns []column[T]
}

// A column is a column of a table. Its field returns a pointer to the part of a value that the
// column keeps; see bind for the supported types.
type column[T any] struct {
	name  string
	field func(*T) any
	use   use
}

// A use says which SQL needs a column, beside that for whole rows.
type use int

const (
	told     use = 1 << iota // contexts show it
	ranked                   // composed summaries show it, or rank frames by it
	searched                 // its words are in the index
	long                     // it comes late in a row, behind longer texts
	cascaded                 // it changes when the frame is invalidated with one above it
)

// An id is text outside the store and the key of that text in a column.
type id struct{ of *string }

// part returns the columns of a part of T as columns of T.
func part[T, P any](columns []column[P], use use, in func(*T) *P) []column[T] {
	return lo.Map(columns, func(c column[P], _ int) column[T] {
		return column[T]{c.name, func(v *T) any { return c.field(in(v)) }, use}
	})
}

// of returns the table with only the columns that have one of these uses.
func (t table[T]) of(uses use) table[T] {
	t.columns = lo.Filter(t.columns, func(c column[T], _ int) bool { return c.use&uses != 0 })
	return t
}

// without returns the table without the columns that have one of these uses.
func (t table[T]) without(uses use) table[T] {
	t.columns = lo.Filter(t.columns, func(c column[T], _ int) bool { return c.use&uses == 0 })
	return t
}

// each applies as to the names of the columns, and returns the results separated by commas.
func (t table[T]) each(as func(column string) string) string {
	return strings.Join(lo.Map(t.columns, func(c column[T], _ int) string { return as(c.name) }), ", ")
}

func itself(column string) string { return column }

// read returns the columns to select from the row with alias as, for scan.
func (t table[T]) read(as string) string {
	list, row := make([]string, 0, len(t.columns)), new(T)
	for _, c := range t.columns {
		from := as + "." + c.name
		_, isID := c.field(row).(id)
		if isID {
			list = append(list, "coalesce((SELECT id FROM ids WHERE ids.key = "+from+"), '')")
		} else { // with its name, by which ORDER BY finds it in all parts of a UNION
			list = append(list, from+" AS "+c.name)
		}
	}
	return strings.Join(list, ", ")
}

// scan returns a function that reads a row of read's SQL. It reads the columns before that
// into first.
func (t table[T]) scan(first ...any) func(*disk.Rows) (T, error) {
	row := new(T)
	into := slices.Clone(first)
	for _, c := range t.columns {
		into = append(into, target(c.field(row)))
	}
	return func(rows *disk.Rows) (T, error) {
		var empty T
		*row = empty
		err := rows.ScanAny(into...)
		return *row, err
	}
}

// An own column keeps data that only the store needs, and no field of a value.
type own struct {
	name  string
	value string // SQL
}

// save returns the SQL that writes a row, new or not, with these own columns.
func (t table[T]) save(owns ...own) string {
	names, values := t.each(itself), placeholders(len(t.columns))
	var sets []string
	for _, c := range t.columns {
		if !strings.Contains(t.key, c.name) {
			sets = append(sets, c.name+" = excluded."+c.name)
		}
	}
	for _, c := range owns {
		names, values = names+", "+c.name, values+", "+c.value
		sets = append(sets, c.name+" = excluded."+c.name)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (%s) DO UPDATE SET %s",
		t.name, names, values, t.key, strings.Join(sets, ", "))
}

// values returns the values of the columns.
func (t table[T]) values(s *statements, v *T) ([]any, error) {
	list := make([]any, len(t.columns), len(t.columns)+1) // callers append a key
	for i, c := range t.columns {
		value, err := bind(s, c.field(v))
		if err != nil {
			return nil, err
		}
		list[i] = value
	}
	return list, nil
}

// bind returns the value of a field, a pointer or an id, in SQLite's form.
func bind(s *statements, field any) (any, error) {
	switch p := field.(type) {
	case id:
		return s.key(*p.of)
	case *string:
		return clean(*p), nil
	case *core.Millis:
		return int64(*p), nil
	case *[]string:
		if len(*p) == 0 {
			return "[]", nil
		}
		return jsonText(cleaned(*p))
	case *json.RawMessage:
		if len(*p) == 0 {
			return nil, nil
		}
		return clean(string(*p)), nil
	}
	return reflect.ValueOf(field).Elem().Interface(), nil // the driver takes it as it is
}

// target returns the destination for Scan that fills a field.
func target(field any) any {
	switch p := field.(type) {
	case id:
		return p.of
	case *[]string:
		return disk.JSONList{List: p}
	case *json.RawMessage:
		return (*[]byte)(p)
	case *core.Status:
		return (*string)(p)
	case *core.SessionState:
		return (*string)(p)
	case *core.Millis:
		return (*int64)(p)
	}
	return field
}
