package tests

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

// An httpServer is flame serve over HTTP.
type httpServer struct {
	url  string   // of streamable HTTP
	said []string // on stderr, until it listened
}

// serveHTTP runs flame serve on a free port for an empty project, and checks that it ends cleanly
// on SIGTERM.
func serveHTTP(t *testing.T) httpServer {
	return serveProject(t, t.TempDir(), t.TempDir())
}

func serveProject(t *testing.T, home, project string, env ...string) (s httpServer) {
	t.Helper()
	cmd := exec.Command(flameBinary(t), "serve", "--http", "127.0.0.1:0")
	cmd.Dir = project
	cmd.Env = append([]string{"HOME=" + home, "FLAME_PROJECT_DIR=" + project, "PATH=" + os.Getenv("PATH")}, env...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	for s.url == "" && lines.Scan() {
		s.said = append(s.said, lines.Text())
		if at := strings.Index(lines.Text(), "http://"); at >= 0 {
			s.url = lines.Text()[at:]
		}
	}
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		for lines.Scan() {
			t.Log(lines.Text())
		}
		assert.NoError(t, cmd.Wait())
	})
	require.NotEmpty(t, s.url, "the server says where it listens: %s", s.said)
	return s
}

var tokenAt = regexp.MustCompile(`(?m)^\[flame\] the token is in (/.*)$`)

// token returns the server's token from that file.
func (s httpServer) token(t *testing.T) string {
	found := tokenAt.FindStringSubmatch(strings.Join(s.said, "\n"))
	require.NotNil(t, found, "the server says where its token is: %s", s.said)
	token, err := os.ReadFile(found[1])
	require.NoError(t, err)
	return string(token)
}
