package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/project"
	"flame/store/disk"
)

// Whatever becomes of a transaction: another Store can write at once, and so can
// this one.
func TestAConnectionIsFreeAfterEveryFailure(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	raw := func(t *testing.T, c *disk.Conn, statement string) {
		_, err := c.Exec(ctx, statement)
		require.NoError(t, err)
	}
	tests := map[string]func(t *testing.T, c *disk.Conn){
		"ended already":            func(t *testing.T, c *disk.Conn) { raw(t, c, "ROLLBACK") },
		"committed already":        func(t *testing.T, c *disk.Conn) { raw(t, c, "COMMIT") },
		"another one begun":        func(t *testing.T, c *disk.Conn) { raw(t, c, "COMMIT"); raw(t, c, "BEGIN"); panic("a bug") },
		"the connection is closed": func(t *testing.T, c *disk.Conn) { require.NoError(t, c.Close()) },
		"a panic where the connection is closed": func(t *testing.T, c *disk.Conn) {
			require.NoError(t, c.Close())
			panic("a bug")
		},
	}
	for name, harm := range tests {
		for kind, opts := range map[string]Options{"short process": {}, "server": {LongLived: true}} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				kept := openWith(t, dir, disk.NewestSchema, opts)
				other := openWith(t, dir, disk.NewestSchema, Options{LockTimeout: 30 * time.Second})
				require.NoError(t, saveOne(kept, "f-1"))
				for what, run := range map[string]func(context.Context, func(project.Tx) error) error{"Update": kept.Update, "View": kept.View} {
					var err error
					func() {
						defer func() { _ = recover() }()
						err = run(ctx, func(t1 project.Tx) error { harm(t, t1.(*tx).sql.c); return nil })
						assert.Error(t, err, what)
					}()
					require.NoError(t, saveOne(other, "by-another"), what)
					require.NoError(t, saveOne(kept, "f-2"), what)
					require.NoError(t, hasFrame(kept, "by-another"), what)
				}
			})
		}
	}
}

// A begin that did begin, although it returned an error.
func TestAFailedBeginLeavesNoTransaction(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{{}, {LongLived: true}} {
		dir := t.TempDir()
		kept := openWith(t, dir, disk.NewestSchema, opts)
		other := openWith(t, dir, disk.NewestSchema, Options{LockTimeout: 30 * time.Second})
		require.NoError(t, saveOne(kept, "f-1"))
		c, err := kept.file.Writer(context.Background())
		require.NoError(t, err)
		_, err = c.Exec(context.Background(), disk.BeginUpdate)
		require.NoError(t, err)
		require.Error(t, saveOne(kept, "f-2"), "a transaction within a transaction")
		require.NoError(t, saveOne(other, "f-3"))
		require.NoError(t, saveOne(kept, "f-2"))
	}
}

// A migration takes longer than other transactions, and may be called off at any
// moment of it.
func TestAMigrationThatIsCalledOffChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := openWith(t, dir, disk.NewestSchema, Options{LockTimeout: 30 * time.Second})
	require.NoError(t, saveOne(old, "f-old"))
	numbers := "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO mood SELECT i FROM n"
	s := next("CREATE TABLE mood (x); " + numbers + "; CREATE INDEX moods ON mood (x)")
	ran := 0
	for limit := time.Millisecond; ; limit += limit / 4 {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		upgraded := openWith(t, dir, s, Options{LongLived: ran%2 == 0})
		err := upgraded.View(ctx, func(project.Tx) error { return nil })
		cancel()
		require.NoError(t, saveOne(old, "f-older"))
		if err == nil {
			require.NoError(t, hasFrame(upgraded, "f-older"))
			break
		}
		ran++
	}
	assert.NotZero(t, ran, "some were called off")
}
