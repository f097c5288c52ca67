package tests

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// built are the programs under test, made once for all tests and without the race detector: tests
// start, kill and time it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// flameBinary returns the path of flame, built from this repository.
func flameBinary(t testing.TB) string {
	built.once.Do(func() { built.dir, built.err = build() })
	require.NoError(t, built.err)
	return filepath.Join(built.dir, "flame")
}

func build() (string, error) {
	dir, err := os.MkdirTemp("", "flame-test-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", dir, ".", "./flame-hub")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build flame and flame-hub: %w\n%s", err, out)
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

// A sealed is flame with a home, a project and programs of its own, and nothing of the user's.
type sealed struct {
	t                  testing.TB
	home, project, bin string
	env                []string
}

func newSealed(t testing.TB) *sealed {
	top := t.TempDir()
	s := &sealed{t: t, home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), bin: filepath.Join(top, "bin")}
	for _, dir := range []string{s.home, filepath.Join(s.project, ".flame"), s.bin} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	s.env = []string{"HOME=" + s.home, "PATH=" + s.bin + ":/usr/bin:/bin", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1"}
	return s
}

// write makes a file, which may be a program.
func (s *sealed) write(path, text string) {
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o755))
}

func (s *sealed) command(args ...string) *exec.Cmd {
	cmd := exec.Command(flameBinary(s.t), args...)
	cmd.Dir, cmd.Env = s.project, s.env
	return cmd
}

// run runs flame to its end.
func (s *sealed) run(args ...string) (stdout, stderr string, code int) {
	var out, errs strings.Builder
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(s.t, cmd.Start())
	_ = endsSoon(s.t, cmd)
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// flame runs a command that has to succeed, and returns its output.
func (s *sealed) flame(stdin string, args ...string) string {
	cmd := s.command(args...)
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	require.NoError(s.t, cmd.Run(), "flame %v: %s", args, &errs)
	return out.String()
}
