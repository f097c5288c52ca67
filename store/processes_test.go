package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tests/effort"
	"flame/tests/storetest"
)

// binaries holds the child program, built at its first use: without -race, since
// it is killed and timed.
var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "flame-store-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // another user may run what is in it
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaries = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var buildChild = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "child")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/child").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// child prepares a process that works on the store in dir.
func child(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := buildChild()
	require.NoError(t, err)
	return exec.Command(path, append([]string{dir}, args...)...)
}

// start starts a child and returns what it prints.
func start(t *testing.T, cmd *exec.Cmd) *bufio.Scanner {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	return bufio.NewScanner(out)
}

// holder starts a child that stays inside an Update until the test ends.
func holder(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := child(t, dir, "hold")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	lines := start(t, cmd)
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		_, _ = io.WriteString(in, "\n")
		assert.NoError(t, cmd.Wait())
	})
	require.True(t, lines.Scan())
	require.Equal(t, "held", lines.Text())
	return cmd
}

func TestKillsLoseNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	const kills = 12
	dir := filepath.Join(t.TempDir(), "data")
	random := rand.New(rand.NewPCG(1, 2))
	var acknowledged []string
	for k := range kills {
		cmd := child(t, dir, "write", fmt.Sprintf("k%d", k), "100000")
		lines := start(t, cmd)
		// The first line tells that writing has begun; the kill comes at any
		// moment of one of the next writes.
		last := 1 + random.IntN(6)
		for n := 0; lines.Scan(); n++ {
			acknowledged = append(acknowledged, lines.Text())
			if n == last {
				time.AfterFunc(time.Duration(random.IntN(4000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait() // killed
	}
	require.GreaterOrEqual(t, len(acknowledged), 2*kills)
	kept := open(t, dir, store.Options{})
	storetest.View(t, kept, func(tx project.Tx) {
		for _, id := range acknowledged {
			_, err := tx.Frame(id)
			assert.NoError(t, err)
		}
		frames, err := tx.FindFrames(project.FrameQuery{})
		require.NoError(t, err)
		events, err := tx.FindEvents(project.EventQuery{})
		require.NoError(t, err)
		assert.Len(t, events, len(frames), "a frame and its event are written together")
	})
	assertSound(t, dir)
}

// Processes open the log as the first and close it as the last all the time, and others
// are killed and leave a log to recover. All that SQLite is busy with then is waited for.
func TestNoProcessFailsBecauseOthersComeAndGo(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	const visitors, visits = 4, 60
	dir := filepath.Join(t.TempDir(), "data")
	var wg sync.WaitGroup
	for v := range visitors {
		cmd := child(t, dir, "visit", fmt.Sprintf("v%d", v), strconv.Itoa(visits))
		wg.Go(func() {
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s", out)
			assert.Equal(t, visits, strings.Count(string(out), "\n"))
		})
	}
	over, killing := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(killing)
		for k := 0; ; k++ {
			cmd := child(t, dir, "visit", fmt.Sprintf("k%d", k), "1000")
			if !assert.NoError(t, cmd.Start()) {
				return
			}
			time.Sleep(time.Duration(5+rand.IntN(50)) * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	wg.Wait()
	close(over)
	<-killing
	assertSound(t, dir)
}

func TestLogStaysShortWhenOnlyShortProcessesWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for p := range 30 {
		out, err := child(t, dir, "write", fmt.Sprintf("p%d", p), "3").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	info, err := os.Stat(filepath.Join(dir, "flame.db-wal"))
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(1<<20))
}

func TestStoppedHolderOfTheLock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	storetest.Save(t, open(t, dir, store.Options{}), core.Frame{ID: "f-1"}) // making a database may take longer than kept waits
	kept := open(t, dir, store.Options{LockTimeout: time.Second})
	assert.Equal(t, "f-1", storetest.Found(t, kept, project.FrameQuery{}))
	cmd := holder(t, dir)
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))

	begun := time.Now()
	err := kept.Update(context.Background(), func(project.Tx) error { return nil })
	assert.Less(t, time.Since(begun), 9*time.Second, "else it would be the usual 10 seconds")
	p := unavailable(t, err)
	assert.Contains(t, p.Message, "locked")
	assert.Contains(t, p.Hint, "flame doctor")
	assert.Contains(t, p.Message, strconv.Itoa(cmd.Process.Pid))

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	unavailable(t, kept.Update(ctx, func(project.Tx) error { return nil }))

	assert.Equal(t, "f-1", storetest.Found(t, kept, project.FrameQuery{}), "reading still works")

	findings := broken(store.Check(context.Background(), dir))
	require.Len(t, findings, 1)
	assert.Contains(t, findings[0].What, fmt.Sprintf("process %d", cmd.Process.Pid))

	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
}

// open opens a Store that is closed when the test ends.
func open(t testing.TB, dir string, opts store.Options) *store.Store {
	t.Helper()
	kept := store.Open(dir, opts)
	t.Cleanup(func() { assert.NoError(t, kept.Close()) })
	return kept
}

// unavailable returns the Problem of kind ErrUnavailable that err must be.
func unavailable(t *testing.T, err error) *core.Problem {
	t.Helper()
	require.ErrorIs(t, err, core.ErrUnavailable)
	var p *core.Problem
	require.ErrorAs(t, err, &p)
	return p
}

func broken(findings []core.Finding) (list []core.Finding) {
	for _, f := range findings {
		if f.Broken {
			list = append(list, f)
		}
	}
	return list
}

func assertSound(t *testing.T, dir string) {
	t.Helper()
	findings := store.Check(context.Background(), dir)
	assert.Empty(t, broken(findings))
	assert.Contains(t, fmt.Sprint(findings), "is sound")
	assert.NotEmpty(t, strings.TrimSpace(dir))
}
