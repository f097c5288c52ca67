package tests

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/clients"
)

// scenarios are those of the protocol's conformance suite that need no tools, prompts or resources
// of the suite's own.
var scenarios = []string{
	"server-initialize",
	"logging-set-level",
	"ping",
	"completion-complete",
	"tools-list",
	"resources-list",
	"prompts-list",
	"server-sse-polling",
	"server-sse-multiple-streams",
	"dns-rebinding-protection",
}

func TestConformance(t *testing.T) {
	t.Parallel()
	node := clientFile(t, clients.Node)
	suite := clientFile(t, "@modelcontextprotocol/conformance/dist/index.js")
	url := withToken(t, serveHTTP(t))
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), clientTime)
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

// withToken returns the URL of a proxy that adds the token to each request and changes nothing
// else: the suite cannot send one.
func withToken(t *testing.T, s httpServer) string {
	target, err := url.Parse(s.url)
	require.NoError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: &http.Transport{}, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Header.Set("Authorization", "Bearer "+s.token(t))
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL + target.Path
}
