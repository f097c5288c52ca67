package disk

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"flame/local/lock"
)

// A Conn is one connection to SQLite with its prepared statements. It calls the driver
// directly, because nothing else uses the connection: database/sql shares connections among
// goroutines, which costs as much as a short statement.
//
// The end of its context does not interrupt a running statement: the driver would start a
// goroutine to watch the context, which costs more than most statements, and would return the
// context's error even if the statement was done. Begin, commit and undo must have a known
// outcome, so they run without a context that ends; SQLite's busy timeout limits them (see
// File.dsn).
type Conn struct {
	Names map[int64]string // ids by their keys, which never change; set by its owner, dropped when a transaction is undone

	conn   driver.Conn
	stmts  map[string]*stmt
	log    os.FileInfo // of the write-ahead log, which exists while this is open; nil if there is none
	closed bool
}

var errClosed = errors.New("the connection to the database is closed")

// Connect opens the one connection of dsn.
func Connect(dsn string) (*Conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &Conn{conn: conn, stmts: map[string]*stmt{}}, nil
}

// Usable reports whether c is open. If it is not, its owner opens another.
func (c *Conn) Usable() bool { return c != nil && !c.closed }

// Close closes the connection and ends its transaction. It does nothing if c is nil or
// closed.
func (c *Conn) Close() error {
	if !c.Usable() {
		return nil
	}
	c.closed = true
	for _, stmt := range c.stmts {
		_ = stmt.of.Close() // its error is the one of its last run
	}
	return c.conn.Close()
}

// prepare returns the statement of a query and its arguments in the driver's form, unless ctx
// has ended. It caches the statement: queries consist of a fixed set of parts, so their number is
// limited.
func (c *Conn) prepare(ctx context.Context, query string, args []any) (s *stmt, named []driver.NamedValue, err error) {
	if err := c.ready(ctx); err != nil {
		return nil, nil, err
	}
	s, known := c.stmts[query]
	if !known {
		prepared, err := c.conn.Prepare(query)
		if err != nil {
			return nil, nil, err
		}
		s = &stmt{of: prepared.(preparedStmt)}
		c.stmts[query] = s
	}
	s.args, err = appendNamed(s.args[:0], args)
	return s, s.args, err
}

// ready returns an error if c cannot run anything.
func (c *Conn) ready(ctx context.Context) error {
	if c.closed {
		return errClosed
	}
	return ctx.Err()
}

// Exec runs a query that returns no rows.
func (c *Conn) Exec(ctx context.Context, query string, args ...any) (driver.Result, error) {
	stmt, named, err := c.prepare(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return stmt.of.ExecContext(context.Background(), named)
}

// Query runs a query and returns its rows. Close them before the query runs again.
func (c *Conn) Query(ctx context.Context, query string, args ...any) (*Rows, error) {
	stmt, named, err := c.prepare(ctx, query, args)
	if err != nil {
		return nil, err
	}
	found, err := stmt.of.QueryContext(context.Background(), named)
	if err != nil {
		return nil, err
	}
	return stmt.rows.begin(found), nil
}

// Get scans the one row of query into dest, or returns ErrNoRow.
func (c *Conn) Get(ctx context.Context, dest []any, query string, args ...any) error {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	if !rows.Next() {
		return cmp.Or(rows.Close(), ErrNoRow)
	}
	return cmp.Or(rows.Scan(dest...), rows.Close())
}

// ExecOnce runs statements that are used once. They are interrupted when ctx ends.
func (c *Conn) ExecOnce(ctx context.Context, statements string, args ...any) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	named, err := appendNamed(nil, args)
	if err != nil {
		return err
	}
	_, err = c.conn.(driver.ExecerContext).ExecContext(ctx, statements, named)
	return err
}

// QueryOnce runs a query that is used once and may take long. The end of ctx ends the wait for its
// first row.
func (c *Conn) QueryOnce(ctx context.Context, query string) (*Rows, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	found, err := c.conn.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	return (&Rows{}).begin(found), nil
}

// How transactions begin.
const (
	BeginView   = "BEGIN"
	BeginUpdate = "BEGIN IMMEDIATE"
)

// Transact runs f between begin and COMMIT, or undoes what f did. No
// transaction is left when it returns or panics.
func (c *Conn) Transact(wait context.Context, begin string, f func() error) error {
	if err := WhileBusy(wait, func() error { return c.begin(begin) }); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed { // f or COMMIT failed, or f panicked
			c.undo()
		}
	}()
	if err := f(); err != nil {
		return err
	}
	err := c.commit(wait)
	committed = err == nil
	return err
}

// commit ends a transaction. With the log it takes no lock; in a database that is being made,
// SQLite can be busy for a moment, and keeps the transaction.
func (c *Conn) commit(wait context.Context) error {
	commit := func() error {
		_, err := c.Exec(context.Background(), "COMMIT")
		return err
	}
	err := commit() // also if f took longer than wait
	if Code(err) == sqlite3.SQLITE_BUSY {
		return WhileBusy(wait, commit)
	}
	return err
}

// begin starts a transaction with begin; after an error there is none. It takes the snapshot
// at once, not with the first query, so that waiting for the snapshot also ends here.
func (c *Conn) begin(begin string) error {
	_, err := c.Exec(context.Background(), begin)
	if err == nil {
		_, err = c.Exec(context.Background(), "PRAGMA user_version")
	}
	if err != nil {
		c.undo()
	}
	return err
}

// undo leaves c without a transaction, whether it is in one or not. Only SQLite knows that; if
// it does not say, undo closes the connection.
func (c *Conn) undo() {
	c.Names = nil
	_, err := c.Exec(context.Background(), "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = c.Close() // nothing uses the connection after this
	}
}

// WhileBusy retries f while SQLite is busy, until wait is done: SQLite's own wait knows no
// context, and SQLite does not wait at all if it expects a deadlock.
//
// SQLite can be busy when a transaction takes its snapshot: another process opens the log as
// the first or closes it as the last, or recovers the log of a killed process. After that,
// SQLite can be busy only at the first write of a transaction that began as a View (store.Run
// then begins again), and at the COMMIT without the log.
func WhileBusy(wait context.Context, f func() error) error {
	if err := wait.Err(); err != nil {
		return err
	}
	for {
		err := f()
		if err == nil || Code(err) != sqlite3.SQLITE_BUSY {
			return err
		}
		select {
		case <-wait.Done():
			return errors.Join(lock.ErrBusy, err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// UseLog permanently switches the file to a write-ahead log. It cannot be part of a
// transaction, and needs exclusive access to the file.
func (c *Conn) UseLog(wait context.Context) error {
	var mode string
	err := WhileBusy(wait, func() error {
		return c.Get(context.Background(), []any{&mode}, "PRAGMA journal_mode = WAL")
	})
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the database has the journal mode %q instead of wal", mode)
	}
	return err
}

// CopyTo copies the database to path.
func (c *Conn) CopyTo(ctx context.Context, path string) error {
	return WhileBusy(ctx, func() error { // VACUUM takes a separate snapshot
		return CreateAtomic(path, func(unfinished string) error {
			if err := c.ExecOnce(ctx, "VACUUM INTO ?", unfinished); err != nil {
				return fmt.Errorf("backup to %s: %w", path, err)
			}
			return nil
		})
	})
}

// Code returns the primary result code of SQLite in err; 0 for none.
func Code(err error) int { return ExtendedCode(err) & 0xff }

// ExtendedCode returns the extended result code of SQLite in err; 0 for none.
func ExtendedCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}
