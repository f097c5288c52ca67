package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/samber/lo"

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
func (s *statements) run(query string, args ...any) (sql.Result, error) {
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
func (s *statements) firstWrite(query string, args ...any) (result sql.Result, err error) {
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
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, s.note(err)
}

// each calls scan on every row of query.
func (s *statements) each(scan func(*sql.Rows) error, query string, args ...any) error {
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
func collect[T any](s *statements, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	var list []T
	err := s.each(func(rows *sql.Rows) error {
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

func scanID(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) }

func scanKey(rows *sql.Rows) (key int64, err error) { return key, rows.Scan(&key) }

// key returns the key of an id, creating it if needed; NULL for no id.
func (s *statements) key(id string) (sql.NullInt64, error) {
	id = clean(id)
	if id == "" {
		return sql.NullInt64{}, nil
	}
	key, err := s.known(id)
	if err == nil && key == 0 {
		key, err = s.insert(`INSERT INTO ids (id) VALUES (?)`, id)
		if err == nil {
			s.keys[id] = key
		}
	}
	return sql.NullInt64{Int64: key, Valid: err == nil}, err
}

// known returns the key of an id, or 0 if it has none; that is kept in keys too.
func (s *statements) known(id string) (key int64, err error) {
	if key, ok := s.keys[id]; ok {
		return key, nil
	}
	found, err := s.get([]any{&key}, `SELECT key FROM ids WHERE id = ?`, id)
	if found {
		s.keys[id] = key
	}
	return key, err
}

// ids returns the ids of keys, in order.
func (s *statements) ids(keys []int64) ([]string, error) {
	return collect(s, scanID, `SELECT ids.id FROM json_each(?) v CROSS JOIN ids ON ids.key = v.value`, jsonOf(keys))
}

// idOf returns the SQL for the id of a key column.
func idOf(column string) string {
	return "coalesce((SELECT id FROM ids WHERE ids.key = " + column + "), '')"
}

// keyOf is the SQL for the key of an id given as a parameter; keyOf1 for that
// of the first parameter, which may be used again.
const (
	keyOf  = "(SELECT key FROM ids WHERE id = ?)"
	keyOf1 = "(SELECT key FROM ids WHERE id = ?1)"
)

// clean makes text valid UTF-8, as its readers expect; SQLite would keep any
// bytes.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func cleaned(list []string) []string {
	return lo.Map(list, func(s string, _ int) string { return clean(s) })
}

// atMost is SQL's LIMIT. The plus keeps SQLite from planning for the exact
// number, which would recompile the statement for each.
const atMost = " LIMIT +?"

// limitOf converts a query's limit, where 0 means none, for atMost, where -1
// does.
func limitOf(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// asJSON returns v as JSON text that words can be found in: < and > stay.
func asJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// placeholders returns n question marks with commas between.
func placeholders(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// jsonOf returns keys as a JSON array.
func jsonOf[T int64 | string](list []T) string {
	text, _ := json.Marshal(list) // these can always be encoded
	return string(text)
}
