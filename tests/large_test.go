package tests

import (
	"bufio"
	"database/sql"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/effort"
)

// seed writes n frames into the data, f-00000001 and on, by SQL: saving a million through flame
// takes minutes. parent is SQL for the parent of the frame key, NULL for none.
func (b *bounded) seed(n int, parent string) {
	b.save([]core.Frame{{ID: "seed", Status: core.Completed}})
	db, err := sql.Open("sqlite", b.file())
	require.NoError(b.t, err)
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"PRAGMA journal_mode = MEMORY", "PRAGMA synchronous = OFF", "PRAGMA cache_size = -200000", "BEGIN",
		"DELETE FROM ids", "DELETE FROM frames", "DELETE FROM frames_text", "DELETE FROM sessions",
		fmt.Sprintf(`INSERT INTO ids (key, id) WITH RECURSIVE n (key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM n WHERE key < %d)
			SELECT key, printf('f-%%08d', key) FROM n`, n),
		`INSERT INTO frames SELECT key, ` + parent + `, NULL,
			CASE key % 3 WHEN 0 THEN 'planned' WHEN 1 THEN 'in_progress' ELSE 'completed' END,
			key, key, 0, key, 0, 0, '', 0, NULL, 0, 0, 0, 0, 0.0, 0, '', '[]', 'word goal ' || key, '', '[]', '[]', '', '', 0, '', 0 FROM ids`,
		"COMMIT", "PRAGMA journal_mode = WAL",
	} {
		_, err := db.Exec(statement)
		require.NoError(b.t, err, statement)
	}
	require.NoError(b.t, db.Close())
}

func TestAChainOfAHundredThousandFramesIsAnOrdinaryTree(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	const n = 100_000/3*3 + 1 // the last one is in progress
	b := newBounded(t)
	b.seed(n, "iif(key = 1, NULL, key - 1)")
	for _, line := range reads {
		out, _ := b.run(strings.Fields(strings.ReplaceAll(line, "$ID", fmt.Sprintf("f-%08d", n)))...)
		assert.Less(t, len(out), 600*n, "%s: characters", line)
	}
	drawn := b.shown("tree", "--all")
	assert.Len(t, drawn, n)
	assert.Equal(t, fmt.Sprintf("depth %d: → word goal %d [f-%08d] ← current", n-1, n, n), drawn[n-1])
	assert.Equal(t, n, countNodes(t, b.must("tree", "--json")))
	if n > 20_000 {
		out, ok := b.run("call", "flame_get_state")
		assert.False(t, ok)
		assert.Contains(t, out, "flame export")
	}
}

func TestManyFramesStreamAtOnceInLittleMemory(t *testing.T) {
	effort.Heavy(t)
	const n = 200_000
	b := newBounded(t)
	b.seed(n, "CASE WHEN key % 100 = 1 THEN NULL ELSE key - 1 - key * 7919 % min(7, (key - 1) % 100) END")

	least := 1.0 // the share of the time until the first line; in one of the runs the machine may have stood still
	for range 5 {
		cmd := b.command("tree", "--all")
		peak := b.bind(cmd)
		s := b.stream(cmd)
		first := time.Since(s.began)
		lines := 1
		for scanner := bufio.NewScanner(s.out); scanner.Scan(); {
			lines++
		}
		require.NoError(t, s.Wait())
		took := time.Since(s.began)
		assert.Equal(t, n+1, lines)
		assert.Less(t, peak(), int64(64<<20))
		t.Logf("first line after %v, all after %v, %d MB", first, took, peak()>>20)
		if least = min(least, first.Seconds()/took.Seconds()); least < 0.5 {
			break
		}
	}
	assert.Less(t, least, 0.5, "the first line comes long before the last")

	for _, args := range [][]string{{"tree", "--all"}, {"tree", "--json"}} {
		s := b.stream(b.command(args...))
		require.NoError(t, s.out.Close())
		assert.Equal(t, syscall.SIGPIPE, s.ends().Signal(), "%v ends when its reader closes the pipe", args)

		s = b.stream(b.command(args...))
		require.NoError(t, s.Process.Signal(syscall.SIGTERM))
		assert.Equal(t, 1, s.ends().ExitStatus(), "%v ends on SIGTERM without a reader", args)
	}
}
