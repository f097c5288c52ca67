package disk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// A Conn is one connection to SQLite with the statements it has prepared.
//
// A statement that has begun is not interrupted when its context ends: the
// driver and database/sql would each start a goroutine to watch it, which costs
// more than most statements do, and then return the context's error even if the
// statement was done. Begin, commit and undo, whose outcome must be known, run
// without a context that ends; SQLite's own waiting bounds them (see File.dsn).
type Conn struct {
	Raw   *sql.Conn // for what is not to be prepared
	Older bool      // the file lacks what newer schemas have, and can only be read; set by its owner

	db     *sql.DB
	stmts  map[string]*sql.Stmt
	log    os.FileInfo // of the write-ahead log, which stays while this is open; nil if there is none
	closed bool
}

// Connect opens the one connection of dsn.
func Connect(dsn string) (*Conn, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	raw, err := db.Conn(context.Background())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Conn{db: db, Raw: raw, stmts: map[string]*sql.Stmt{}}, nil
}

// Usable reports whether c is open. If it is not, its owner opens another.
func (c *Conn) Usable() bool { return c != nil && !c.closed }

// Close closes the connection, which ends its transaction. It does nothing if c
// is nil or closed.
func (c *Conn) Close() error {
	if !c.Usable() {
		return nil
	}
	c.closed = true
	for _, stmt := range c.stmts {
		stmt.Close()
	}
	return errors.Join(c.Raw.Close(), c.db.Close())
}

// prepare returns query's statement, unless ctx has ended, and caches it. The
// queries are made of a fixed set of parts, so their number is bounded.
func (c *Conn) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if stmt, ok := c.stmts[query]; ok {
		return stmt, nil
	}
	stmt, err := c.Raw.PrepareContext(context.Background(), query)
	if err == nil {
		c.stmts[query] = stmt
	}
	return stmt, err
}

// Exec runs a query that returns no rows.
func (c *Conn) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(context.Background(), args...)
}

// Query runs a query and returns its rows.
func (c *Conn) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.Background(), args...)
}

// Get scans the one row of query into dest.
func (c *Conn) Get(ctx context.Context, dest []any, query string, args ...any) error {
	stmt, err := c.prepare(ctx, query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(context.Background(), args...).Scan(dest...)
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
	_, err := c.Exec(context.Background(), "COMMIT")
	committed = err == nil
	return err
}

// begin starts a transaction with begin, or leaves none. It takes the snapshot
// here rather than in the first query, so that waiting for it ends here too.
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

// undo leaves c without a transaction, whether it is in one or not. Only SQLite
// knows which; if it does not say, the connection is closed.
func (c *Conn) undo() {
	_, err := c.Exec(context.Background(), "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = c.Close() // the connection is given up in any case
	}
}

// WhileBusy retries f while SQLite is busy, until wait is done: SQLite's own
// waiting knows no context, and does not wait at all where it fears a deadlock.
//
// Only what looks for a snapshot can find SQLite busy: while another process
// opens or closes the log as the first or last, or recovers the log of one that
// was killed. Once a transaction has its snapshot, nothing in it can but its
// first write, if it began as a View (store.Run begins again then). With the log
// COMMIT takes no lock.
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
			return errors.Join(ErrBusy, err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// UseLog switches the file to a write-ahead log, permanently. It cannot be part
// of a transaction, and needs exclusive access to the file.
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
	return WhileBusy(ctx, func() error { // it takes a snapshot of its own
		return PutWhole(path, func(unfinished string) error {
			if _, err := c.Raw.ExecContext(ctx, "VACUUM INTO ?", unfinished); err != nil {
				return fmt.Errorf("backup to %s: %w", path, err)
			}
			return nil
		})
	})
}
