package disk

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"
)

// Pages of the write-ahead log. A thousand is where SQLite itself would work the
// log into the database, on the time of the write that reaches it.
const (
	longLog    = 1000        // not yet worked in: time to do so
	endlessLog = 4 * longLog // in all: it never comes to its end while others write
)

// A keeper works the write-ahead log of a long-lived process into the database,
// on a connection of its own, so that no write waits for it.
type keeper struct {
	path   string
	logger *slog.Logger
	work   chan struct{} // holds a token after a commit; closed to stop
	done   chan struct{}
	conn   *Conn
}

// startKeeper starts the keeper of the database at path, which c is open on.
func startKeeper(path string, c *Conn, logger *slog.Logger) *keeper {
	k := &keeper{path: path, logger: logger, work: make(chan struct{}, 1), done: make(chan struct{}), conn: c}
	go k.run()
	return k
}

// wake tells the keeper of a commit.
func (k *keeper) wake() {
	select {
	case k.work <- struct{}{}:
	default:
	}
}

// stop ends the keeper after what it does; a nil one has ended.
func (k *keeper) stop() error {
	if k == nil {
		return nil
	}
	close(k.work)
	<-k.done
	return k.conn.Close()
}

func (k *keeper) run() {
	defer close(k.done)
	for range k.work {
		if err := k.checkpoint(); err != nil {
			k.logger.Warn("checkpoint", "file", k.path, "error", err)
		}
	}
}

// checkpoint works the log in when it is long. Only a write that finds all of it
// worked in begins the log anew, which under constant writing may never be; then
// the writers wait for the rest, which is short.
func (k *keeper) checkpoint() error {
	pages, pending, err := k.pragma("NOOP")
	if err == nil && pending >= longLog {
		pages, pending, err = k.pragma("PASSIVE")
	}
	if err != nil || pages < endlessLog || pending == 0 {
		return err
	}
	wait, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	lock, err := TakeLock(wait, filepath.Join(filepath.Dir(k.path), LockName))
	if err != nil {
		return err
	}
	defer lock.Release()
	_, _, err = k.pragma("PASSIVE")
	return err
}

// pragma runs PRAGMA wal_checkpoint and returns the pages in the log, and those of
// them that are not worked in.
func (k *keeper) pragma(mode string) (pages, pending int, err error) {
	var busy, done int
	err = k.conn.Get(context.Background(), []any{&busy, &pages, &done}, "PRAGMA wal_checkpoint("+mode+")")
	return pages, pages - done, err
}
