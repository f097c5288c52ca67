package tests

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	t.Helper()
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

// tokenFile returns the file of the token, as the server prints it.
func (s httpServer) tokenFile(t *testing.T) string {
	t.Helper()
	found := tokenAt.FindStringSubmatch(strings.Join(s.said, "\n"))
	require.NotNil(t, found, "the server says where its token is: %s", s.said)
	return found[1]
}

// token returns the server's token from that file.
func (s httpServer) token(t *testing.T) string {
	t.Helper()
	token, err := os.ReadFile(s.tokenFile(t))
	require.NoError(t, err)
	return string(token)
}

// status returns the status of the answer at a path of the server.
func (s httpServer) status(t *testing.T, path, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+path, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := httpClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	return response.StatusCode
}

func TestTheTokenOfHTTPIsMadeKeptAndRequired(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	first := serveProject(t, home, project)
	token := first.token(t)
	assert.Len(t, token, 43)
	for _, line := range first.said {
		assert.NotContains(t, line, token)
	}
	info, err := os.Lstat(first.tokenFile(t))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	second := serveProject(t, home, project)
	assert.Equal(t, token, second.token(t))
	for _, s := range []httpServer{first, second} {
		assert.Equal(t, http.StatusUnauthorized, s.status(t, "/metrics", ""))
		assert.Equal(t, http.StatusUnauthorized, s.status(t, "/metrics", token[1:]))
		assert.Equal(t, http.StatusOK, s.status(t, "/metrics", token))
		assert.Equal(t, http.StatusNotFound, s.status(t, "/.well-known/oauth-protected-resource", ""))
	}
}

func TestATokenOfTheEnvironmentIsRequired(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-my-own"
	home := t.TempDir()
	s := serveProject(t, home, t.TempDir(), "FLAME_HTTP_TOKEN="+token)
	assert.Equal(t, "[flame] the token is the value of FLAME_HTTP_TOKEN", s.said[0])
	assert.Equal(t, http.StatusUnauthorized, s.status(t, "/metrics", ""))
	assert.Equal(t, http.StatusOK, s.status(t, "/metrics", token))
	kept, err := filepath.Glob(filepath.Join(home, ".local/share/flame/*/http-token"))
	require.NoError(t, err)
	assert.Empty(t, kept)
}

// A container asks so whether its server is alive; it has no token.
func TestServeCheckAsksAServer(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t)
	addr := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	check := func(args ...string) error {
		cmd := exec.Command(flameBinary(t), append([]string{"serve", "--check"}, args...)...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=" + t.TempDir()}
		return cmd.Run()
	}
	assert.NoError(t, check("--http", addr))
	assert.Error(t, check("--http", "127.0.0.1:1"))
	assert.Error(t, check())
}
