package tests

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/local/git"
	"flame/local/place"
	"flame/tests/effort"
)

// A bounded runs flame on its own data, and fails its test if a run takes too long or too much
// memory, or crashes.
type bounded struct {
	*sealed
	t    *testing.T
	data *place.Folder
}

// The bounds of a run: time on a busy machine, and resident memory in bytes. The limit of address
// space, in bytes, protects the machine if the other bounds fail; Go reserves some 1.3 GB of
// addresses.
const (
	boundedTime   = 90 * time.Second
	boundedMemory = 200 << 20
	askedMemory   = 3 << 30
)

func newBounded(t *testing.T) *bounded {
	b := &bounded{sealed: newSealed(t), t: t}
	b.data = place.FolderOf(place.At(b.project), place.Env{Home: b.home}, git.FirstCommit)
	return b
}

// boundedFile is the variable that makes the test binary run another program within bounds. Its
// value is the file for the peak of that program's memory, in bytes. This needs a process of its
// own, because a child's peak begins with the size of its parent.
const boundedFile = "FLAME_TEST_BOUNDED"

// beBounded runs a program within bounds, and returns its exit status.
func beBounded(file string, args []string) int {
	limit := syscall.Rlimit{Cur: askedMemory, Max: askedMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil && runtime.GOOS == "linux" { // only Linux guarantees it
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Run() // the state has the status
	if cmd.ProcessState == nil {
		return 3
	}
	peak := int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	if runtime.GOOS == "linux" { // in KB (getrusage(2))
		peak <<= 10
	}
	if err := os.WriteFile(file, strconv.AppendInt(nil, peak, 10), 0o600); err != nil {
		return 3
	}
	return cmd.ProcessState.ExitCode()
}

// bind runs a command within bounds; peak returns its largest resident memory, in bytes, once it
// has ended.
func (b *bounded) bind(cmd *exec.Cmd) (peak func() int64) {
	own, err := os.Executable()
	require.NoError(b.t, err)
	file := filepath.Join(b.t.TempDir(), "peak")
	cmd.Args = append([]string{own, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = own
	cmd.Env = append(cmd.Env, boundedFile+"="+file, "GORACE=atexit_sleep_ms=0")
	return func() int64 {
		text, err := os.ReadFile(file)
		require.NoError(b.t, err)
		bytes, err := strconv.ParseInt(string(text), 10, 64)
		require.NoError(b.t, err)
		return bytes
	}
}

// file is the database.
func (b *bounded) file() string { return filepath.Join(b.data.Path, "flame.db") }

// run returns the output of a command and reports whether it succeeded.
func (b *bounded) run(args ...string) (out string, ok bool) {
	cmd := b.command(args...)
	late := time.AfterFunc(boundedTime, func() { _ = cmd.Process.Kill() })
	peak := b.bind(cmd)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	what := strings.Join(args, " ")
	require.True(b.t, late.Stop(), "%s takes forever", what)
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(b.t, err, &exit)
		require.Equal(b.t, 1, exit.ExitCode(), "%s: %s", what, stderr.String())
	}
	require.NotContains(b.t, stderr.String(), "goroutine ", what)
	assert.Less(b.t, peak(), int64(boundedMemory), "%s: bytes of memory", what)
	return stdout.String(), err == nil
}

// must is run for a command that has to succeed.
func (b *bounded) must(args ...string) string {
	out, ok := b.run(args...)
	require.True(b.t, ok, "%v: %s", args, out)
	return out
}

// A stream is a command that has written its first line.
type stream struct {
	*exec.Cmd
	t     *testing.T
	out   *os.File
	began time.Time
}

// stream starts a command and reads its first line.
func (b *bounded) stream(cmd *exec.Cmd) stream {
	s := stream{Cmd: cmd, t: b.t, began: time.Now()}
	out, err := cmd.StdoutPipe()
	require.NoError(b.t, err)
	s.out = out.(*os.File)
	require.NoError(b.t, cmd.Start())
	for char := []byte{0}; char[0] != '\n'; {
		_, err := out.Read(char)
		require.NoError(b.t, err)
	}
	return s
}

// ends waits for the end of a stream that must end at once.
func (s stream) ends() syscall.WaitStatus {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		require.True(s.t, err == nil || errors.As(err, &exit), "%v", err)
	case <-time.After(patience):
		_ = s.Process.Kill()
		s.t.Fatal("it goes on")
	}
	return s.ProcessState.Sys().(syscall.WaitStatus)
}

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
