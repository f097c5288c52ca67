package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"flame/project"
)

// A conn is one connection to SQLite with the statements it has prepared.
type conn struct {
	db    *sql.DB
	raw   *sql.Conn
	stmts map[string]*sql.Stmt
	older bool // the file lacks what newer schemas have, and can only be read
}

// connect opens the one connection of dsn. It outlives ctx.
func connect(ctx context.Context, dsn string) (*conn, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	raw, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &conn{db: db, raw: raw, stmts: map[string]*sql.Stmt{}}, nil
}

// close closes the connection; a nil one is closed already.
func (c *conn) close() error {
	if c == nil {
		return nil
	}
	for _, stmt := range c.stmts {
		stmt.Close()
	}
	return errors.Join(c.raw.Close(), c.db.Close())
}

// prepare gives query's statement, which later calls find again. The queries
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

// transact runs f between begin and COMMIT, or undoes what f did. A transaction
// that has begun to commit is not called off.
func (c *conn) transact(wait context.Context, begin string, t *tx, f func(project.Tx) error) error {
	if err := c.begin(wait, begin, t); err != nil {
		return err
	}
	ended := context.WithoutCancel(wait)
	committed := false
	defer func() {
		if !committed { // f or COMMIT failed, or f panicked
			// Fails only where SQLite has undone the transaction already.
			_, _ = c.exec(ended, "ROLLBACK")
		}
	}()
	err := f(t)
	if err == nil {
		err = cmp.Or(t.failed, t.ctx.Err())
	}
	if err != nil {
		return callerError{err}
	}
	_, err = c.exec(ended, "COMMIT")
	committed = err == nil
	return err
}

// begin starts a transaction with begin. A reader takes its snapshot here rather
// than at its first query, so that waiting for it ends here too.
func (c *conn) begin(wait context.Context, begin string, t *tx) error {
	return whileBusy(wait, func() error {
		if _, err := c.exec(wait, begin); err != nil || begin != beginView {
			return err
		}
		err := c.get(wait, []any{&t.cascading}, t.snapshot())
		if err != nil {
			_, undo := c.exec(context.WithoutCancel(wait), "ROLLBACK")
			err = errors.Join(err, undo)
		}
		return err
	})
}

// How transactions begin.
const (
	beginView   = "BEGIN"
	beginUpdate = "BEGIN IMMEDIATE"
)

// whileBusy calls f again while SQLite says that it is busy, until wait is done:
// SQLite's own waiting knows no context.
func whileBusy(wait context.Context, f func() error) error {
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
