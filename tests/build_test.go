package tests

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// built is the program under test, made once for all tests and without the race detector: tests
// start, kill and time it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// flameBinary returns the path of flame, built from this repository.
func flameBinary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() { built.dir, built.err = build() })
	require.NoError(t, built.err)
	return filepath.Join(built.dir, "flame")
}

func build() (string, error) {
	dir, err := os.MkdirTemp("", "flame-test-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "flame"), ".")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build flame: %w\n%s", err, out)
	}
	return dir, nil
}

func TestMain(m *testing.M) {
	if file := os.Getenv(boundedFile); file != "" {
		os.Exit(beBounded(file, os.Args[1:]))
	}
	// Tests wait for other processes half of their time.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	for _, dir := range []string{built.dir, released.dir} {
		if dir != "" {
			_ = os.RemoveAll(dir) // a leftover harms no later run
		}
	}
	os.Exit(code)
}
