package guard_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/local/guard"
)

// token is the token that servers in these tests require and clients send.
const token = "0123456789abcdef"

func withToken(t *testing.T, addr string) *guard.Guard {
	t.Helper()
	g, err := guard.New(addr, token)
	require.NoError(t, err)
	return g
}

// serve starts a server with the guard g. It answers all accepted requests.
func serve(t *testing.T, g *guard.Guard) (url string) {
	t.Helper()
	web := httptest.NewServer(g.Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })))
	t.Cleanup(web.Close)
	return web.URL
}

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

// ask sends one request with the token. header has names and values in turn; a value with
// several lines stands for several headers. No answer may let a page of another origin read
// it.
func ask(t *testing.T, url, path string, header ...string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
			continue
		}
		request.Header[http.CanonicalHeaderKey(header[i])] = strings.Split(header[i+1], "\n")
	}
	response, err := httpClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	for name := range response.Header {
		assert.NotContains(t, name, "Access-Control")
	}
	return response
}

func TestAGuardChecksTheHostHeader(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header []string
		status int
	}{
		"a program on this machine":   {status: 200},
		"localhost by name":           {header: []string{"Host", "localhost:7433"}, status: 200},
		"localhost in capitals":       {header: []string{"Host", "LOCALHOST"}, status: 200},
		"another loopback address":    {header: []string{"Host", "127.8.8.8:1"}, status: 200},
		"IPv6":                        {header: []string{"Host", "[::1]:7433"}, status: 200},
		"IPv6 without a port":         {header: []string{"Host", "[::1]"}, status: 200},
		"a rebound name":              {header: []string{"Host", "evil.example.com"}, status: 403},
		"a name that begins as we do": {header: []string{"Host", "127.0.0.1.evil.example.com"}, status: 403},
		"localhost as a subdomain":    {header: []string{"Host", "localhost.evil.example.com"}, status: 403},
		"an address of the network":   {header: []string{"Host", "192.168.1.7:7433"}, status: 403},
		"any interface":               {header: []string{"Host", "0.0.0.0:7433"}, status: 403},
	}
	web := serve(t, withToken(t, "127.0.0.1:0"))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			response := ask(t, web, "/any", tt.header...)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			assert.Equal(t, tt.status, response.StatusCode, string(body))
			assert.NotEmpty(t, body)
		})
	}
}

func TestAGuardAcceptsPagesOfItsOwnOrigin(t *testing.T) {
	t.Parallel()
	const loopback, outside = "127.0.0.1:0", "0.0.0.0:0"
	tests := map[string]struct {
		addr, host, origin string // PORT is the server's; no host: its address
		status             int
	}{
		"its own":                           {loopback, "", "http://127.0.0.1:PORT", 200},
		"its own by name":                   {loopback, "", "http://localhost:PORT", 200},
		"its own in capitals":               {loopback, "", "http://LOCALHOST:PORT", 200},
		"its own, and asked for by name":    {loopback, "localhost:PORT", "http://127.0.0.1:PORT", 200},
		"its own by a forwarded port":       {loopback, "localhost:99", "http://localhost:99", 200},
		"its own by http's own port":        {loopback, "localhost", "http://localhost", 200},
		"its own by a name of the network":  {outside, "flame.example.com:PORT", "http://flame.example.com:PORT", 200},
		"another server of this machine":    {loopback, "", "http://localhost:3000", 403},
		"one at http's own port":            {loopback, "", "http://localhost", 403},
		"one at another loopback address":   {loopback, "", "http://127.8.8.8:PORT", 403},
		"one with a certificate":            {loopback, "", "https://127.0.0.1:PORT", 403},
		"one of the internet":               {loopback, "", "https://evil.example.com", 403},
		"one that begins as we do":          {loopback, "", "http://127.0.0.1:PORT.evil.example.com", 403},
		"one with our name as its user":     {loopback, "", "http://127.0.0.1:PORT@evil.example.com", 403},
		"one of this machine, from outside": {outside, "flame.example.com", "http://localhost:PORT", 403},
		"a name below ours":                 {outside, "flame.example.com", "http://evil.flame.example.com", 403},
		"a sandboxed page":                  {loopback, "", "null", 403},
		"an empty origin":                   {loopback, "", "", 403},
		"our origin and another":            {loopback, "", "http://127.0.0.1:PORT\nhttp://evil.example.com", 403},
		"another origin and ours":           {loopback, "", "http://evil.example.com\nhttp://127.0.0.1:PORT", 403},
		"an extension of a browser":         {loopback, "", "chrome-extension://localhost", 403},
		"a file":                            {loopback, "", "file://", 403},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := serve(t, withToken(t, tt.addr))
			_, port, err := net.SplitHostPort(strings.TrimPrefix(web, "http://"))
			require.NoError(t, err)
			header := []string{"Origin", strings.ReplaceAll(tt.origin, "PORT", port)}
			if tt.host != "" {
				header = append(header, "Host", strings.ReplaceAll(tt.host, "PORT", port))
			}
			assert.Equal(t, tt.status, ask(t, web, "/any", header...).StatusCode)
		})
	}
}

func TestAGuardRequiresTheToken(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		web := serve(t, withToken(t, addr))
		for authorization, known := range map[string]bool{
			"":                          false,
			"Bearer":                    false,
			"Bearer ":                   false,
			"Bearer 0123456789abcde":    false,
			"Bearer 0123456789abcdefg":  false,
			"Bearer 0123456789abcdeF":   false,
			"Bearer 0123456789abcdef x": false,
			"Basic 0123456789abcdef":    false,
			"0123456789abcdef":          false,
			"bearer 0123456789abcdef":   true,
			"Bearer 0123456789abcdef":   true,
		} {
			response := ask(t, web, "/any", "Authorization", authorization)
			if known {
				assert.Equal(t, http.StatusOK, response.StatusCode, authorization)
				continue
			}
			assert.Equal(t, http.StatusUnauthorized, response.StatusCode, authorization)
			assert.Equal(t, `Bearer realm="flame"`, response.Header.Get("WWW-Authenticate"), "no mention of OAuth")
		}
	}
}

func TestAGuardOffersNoOAuth(t *testing.T) {
	t.Parallel()
	web := serve(t, withToken(t, "127.0.0.1:0"))
	for _, path := range []string{
		"/.well-known/", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
		"/.well-known/oauth-authorization-server", "/mcp/.well-known/openid-configuration",
	} {
		for name, header := range map[string][]string{
			"with the token":    nil,
			"without one":       {"Authorization", ""},
			"by a rebound name": {"Authorization", "", "Host", "evil.example.com"},
			"for a page":        {"Authorization", "", "Origin", "https://evil.example.com"},
		} {
			response := ask(t, web, path, header...)
			assert.Equal(t, http.StatusNotFound, response.StatusCode, "%s %s", path, name)
		}
	}
}

func TestAGuardNeedsAGoodTokenUnlessOnLoopback(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		addr, token string
		noToken     bool
		problem     string
	}{
		"on loopback":                   {addr: "127.0.0.1:0", token: token},
		"on every interface":            {addr: "0.0.0.0:0", token: token},
		"in letters of any alphabet":    {addr: "127.0.0.1:0", token: strings.Repeat("ж", 16)},
		"none, on loopback":             {addr: "127.0.0.1:0", noToken: true},
		"none, on loopback by name":     {addr: "localhost:0", noToken: true},
		"none, on loopback in IPv6":     {addr: "[::1]:0", noToken: true},
		"none, on every interface":      {addr: "0.0.0.0:0", noToken: true, problem: "other machines can reach"},
		"none, on all of IPv6":          {addr: "[::]:0", noToken: true, problem: "other machines can reach"},
		"none, on an address of Go's":   {addr: ":8080", noToken: true, problem: "other machines can reach"},
		"none, on a name":               {addr: "flame.example.com:80", noToken: true, problem: "other machines can reach"},
		"an empty one":                  {addr: "127.0.0.1:0", problem: "is empty"},
		"one of a character":            {addr: "127.0.0.1:0", token: "§", problem: "fewer than 16"},
		"one that is a little short":    {addr: "127.0.0.1:0", token: token[1:], problem: "fewer than 16"},
		"a short one in many bytes":     {addr: "127.0.0.1:0", token: strings.Repeat("ж", 15), problem: "fewer than 16"},
		"a blank one":                   {addr: "127.0.0.1:0", token: strings.Repeat(" ", 20), problem: "blanks"},
		"one with a blank":              {addr: "127.0.0.1:0", token: token + " " + token, problem: "blanks"},
		"one with a wide blank":         {addr: "127.0.0.1:0", token: token + "\u3000", problem: "blanks"},
		"one that ends a header":        {addr: "127.0.0.1:0", token: token + "\r\nX: y", problem: "control"},
		"one with what cannot be seen":  {addr: "127.0.0.1:0", token: strings.Repeat("\u200b", 16), problem: "control"},
		"one that is no text":           {addr: "127.0.0.1:0", token: token + "\x00", problem: "control"},
		"with an address without ports": {addr: "127.0.0.1", token: token, problem: "not an address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := guard.New(tt.addr, tt.token)
			if tt.noToken {
				_, err = guard.WithoutToken(tt.addr)
			}
			if tt.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.problem)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.NotEmpty(t, problem.Hint)
			if tt.token != "" {
				assert.NotContains(t, problem.Message+problem.Hint, tt.token)
			}
		})
	}
}

func TestAGuardWithoutTokenRefusesOtherPages(t *testing.T) {
	t.Parallel()
	g, err := guard.WithoutToken("127.0.0.1:0")
	require.NoError(t, err)
	web := serve(t, g)
	for status, header := range map[int][]string{
		http.StatusOK:        {"Authorization", ""},
		http.StatusForbidden: {"Authorization", "", "Origin", "http://localhost:3000"},
	} {
		assert.Equal(t, status, ask(t, web, "/any", header...).StatusCode)
	}
	assert.Equal(t, http.StatusForbidden, ask(t, web, "/any", "Host", "evil.example.com").StatusCode)
}
