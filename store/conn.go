package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// A conn is one connection to SQLite with the statements it has prepared.
//
// The driver calls a statement off from another goroutine when its context ends,
// and then returns the context's error even if the statement was done. So begin,
// commit and undo, whose outcome must be known, run without a context that ends;
// SQLite's own waiting bounds them (see file.dsn).
type conn struct {
	db     *sql.DB
	raw    *sql.Conn
	stmts  map[string]*sql.Stmt
	log    os.FileInfo // of the write-ahead log, which stays while this is open; nil for none
	closed bool
	older  bool // the file lacks what newer schemas have, and can only be read
}

// connect opens the one connection of dsn.
func connect(dsn string) (*conn, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	raw, err := db.Conn(context.Background())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &conn{db: db, raw: raw, stmts: map[string]*sql.Stmt{}}, nil
}

// usable reports whether c is open. Where it is not, its owner opens another.
func (c *conn) usable() bool { return c != nil && !c.closed }

// close closes the connection, which ends its transaction. One that is nil or
// closed stays so.
func (c *conn) close() error {
	if !c.usable() {
		return nil
	}
	c.closed = true
	for _, stmt := range c.stmts {
		stmt.Close()
	}
	return errors.Join(c.raw.Close(), c.db.Close())
}

// prepare returns query's statement, which later calls find again. The queries
// are made of a fixed set of parts, so their number is bounded.
func (c *conn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := c.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := c.raw.PrepareContext(ctx, query)
	if err == nil {
		c.stmts[query] = stmt
	}
	return stmt, err
}

func (c *conn) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (c *conn) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// get scans the one row of query into dest.
func (c *conn) get(ctx context.Context, dest []any, query string, args ...any) error {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, args...).Scan(dest...)
}

// How transactions begin.
const (
	beginView   = "BEGIN"
	beginUpdate = "BEGIN IMMEDIATE"
)

// transact runs f between begin and COMMIT, or undoes what f did. No transaction
// is left when it returns or panics.
func (c *conn) transact(wait context.Context, begin string, f func() error) error {
	if err := whileBusy(wait, func() error { return c.begin(begin) }); err != nil {
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
	_, err := c.exec(context.Background(), "COMMIT")
	committed = err == nil
	return err
}

// begin starts a transaction with begin, or leaves none. The snapshot is taken
// here rather than by the first query, so that waiting for it ends here too.
func (c *conn) begin(begin string) error {
	_, err := c.exec(context.Background(), begin)
	if err == nil {
		var version int
		err = c.get(context.Background(), []any{&version}, "PRAGMA user_version")
	}
	if err != nil {
		c.undo()
	}
	return err
}

// undo leaves c without a transaction, whether it is in one or not. Only SQLite
// knows which; where it does not tell, the connection is closed.
func (c *conn) undo() {
	_, err := c.exec(context.Background(), "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = c.close() // the connection is given up, whatever it says
	}
}

// whileBusy calls f again while SQLite says that it is busy, until wait is done:
// SQLite's own waiting knows no context.
func whileBusy(wait context.Context, f func() error) error {
	if err := wait.Err(); err != nil {
		return err
	}
	for {
		err := f()
		if err == nil || resultCode(err) != sqlite3.SQLITE_BUSY {
			return err
		}
		select {
		case <-wait.Done():
			return errors.Join(errBusy, err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}
