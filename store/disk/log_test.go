package disk_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/store/disk"
)

func TestLogLeavesNoTraceWithoutADataFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".flame")
	log := disk.NewLog(dir, nil)
	n, err := log.Write([]byte("line\n"))
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	assert.NoDirExists(t, dir)

	require.NoError(t, os.Mkdir(dir, 0o700))
	fmt.Fprintln(log, "later")
	assert.Equal(t, "later\n", read(t, filepath.Join(dir, "flame.log")))
}

func TestLogBeginsAnewAtTenMegabytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Two processes write to one file: each has a Log of its own.
	logs := []*disk.Log{disk.NewLog(dir, nil), disk.NewLog(dir, nil)}
	line := append(bytes.Repeat([]byte("x"), 1<<20-1), '\n')
	for i := range 24 {
		_, err := logs[i%2].Write(line)
		require.NoError(t, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, files, 2, "the log and the one before")
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.LessOrEqual(t, info.Size(), int64(22<<20), file)
	}
}

func TestLogKeepsLinesOfManyWritersWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 8 {
		logger := slog.New(slog.NewJSONHandler(disk.NewLog(dir, nil), nil))
		group.Go(func() {
			for j := range 100 {
				logger.Info("line", "writer", i, "n", j)
			}
		})
	}
	group.Wait()
	lines := strings.Split(strings.TrimSpace(read(t, filepath.Join(dir, "flame.log"))), "\n")
	require.Len(t, lines, 800)
	for _, line := range lines {
		require.True(t, strings.HasPrefix(line, "{") && strings.HasSuffix(line, "}"), line)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(raw)
}
