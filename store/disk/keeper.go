package disk

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"
)

// Pages of the write-ahead log. A thousand is where SQLite itself would
// checkpoint the log, at the expense of the write that reaches it.
const (
	longLog    = 1000        // not checkpointed: time to do so
	endlessLog = 4 * longLog // total: checkpoints never catch up while others write
)

// A keeper checkpoints the write-ahead log of a long-lived process into the
// database, on its own connection, so that no write waits for it.
type keeper struct {
	path   string
	logger *slog.Logger
	work   chan struct{} // holds a token after a commit; closed to stop
	done   chan struct{}
	conn   *Conn
}

// startKeeper starts the keeper of the database at path, on which c is open.
func startKeeper(path string, c *Conn, logger *slog.Logger) *keeper {
	k := &keeper{path: path, logger: logger, work: make(chan struct{}, 1), done: make(chan struct{}), conn: c}
	go k.run()
	return k
}

// wake notifies the keeper of a commit.
func (k *keeper) wake() {
	select {
	case k.work <- struct{}{}:
	default:
	}
}

// stop ends the keeper after its current work; a nil one has ended.
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

// checkpoint checkpoints the log when it is long. Only a write that finds all
// of it checkpointed restarts the log, which may never happen under constant
// writing; then the writers wait for the rest, which is short.
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

// pragma runs PRAGMA wal_checkpoint and returns the pages in the log, and those
// not checkpointed.
func (k *keeper) pragma(mode string) (pages, pending int, err error) {
	var busy, done int
	err = k.conn.Get(context.Background(), []any{&busy, &pages, &done}, "PRAGMA wal_checkpoint("+mode+")")
	return pages, pages - done, err
}
