package disk_test

import (
	"context"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/store/disk"
)

// locked returns a connection to a database without a log that another one has locked, and
// a function that ends the lock.
func locked(t *testing.T) (c *disk.Conn, path string, end func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "flame.db")
	var both [2]*disk.Conn
	for i := range both {
		var err error
		both[i], err = disk.New(path).Connect(t.Context(), url.Values{"mode": {"rwc"}})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, both[i].Close()) })
	}
	exec := func(query string) {
		_, err := both[1].Exec(context.Background(), query)
		assert.NoError(t, err)
	}
	exec("CREATE TABLE mood (x)")
	exec("BEGIN EXCLUSIVE")
	return both[0], path, func() { exec("ROLLBACK") }
}

func TestNothingFailsWhileSQLiteIsBusyForAMoment(t *testing.T) {
	t.Parallel()
	nothing := func() error { return nil }
	for name, use := range map[string]func(wait context.Context, c *disk.Conn, path string) error{
		"a View": func(wait context.Context, c *disk.Conn, _ string) error {
			return c.Transact(wait, disk.BeginView, nothing)
		},
		"an Update": func(wait context.Context, c *disk.Conn, _ string) error {
			return c.Transact(wait, disk.BeginUpdate, nothing)
		},
		"a log":  func(wait context.Context, c *disk.Conn, _ string) error { return c.UseLog(wait) },
		"a copy": func(wait context.Context, c *disk.Conn, path string) error { return c.CopyTo(wait, path+".copy") },
		"a connection": func(wait context.Context, _ *disk.Conn, path string) error {
			c, err := disk.New(path).Connect(wait, nil)
			if err == nil {
				err = c.Close()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, path, end := locked(t)
			soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			assert.Error(t, use(soon, c, path))
			ended := make(chan struct{})
			time.AfterFunc(100*time.Millisecond, func() { end(); close(ended) })
			assert.NoError(t, use(t.Context(), c, path))
			<-ended
		})
	}
}
