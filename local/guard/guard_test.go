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
	"flame/tests/cases"
)

// token is the token that servers in these tests require and clients send.
const token = "0123456789abcdef"

func withToken(t *testing.T, addr string) *guard.Guard {
	g, err := guard.New(addr, token)
	require.NoError(t, err)
	return g
}

// serve starts a server with the guard g. It answers all accepted requests.
func serve(t *testing.T, g *guard.Guard) (url string) {
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
	tests := cases.Read[struct {
		Header []string
		Status int
	}](t, "testdata/hosts.yaml")
	web := serve(t, withToken(t, "127.0.0.1:0"))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			response := ask(t, web, "/any", tt.Header...)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			assert.Equal(t, tt.Status, response.StatusCode, string(body))
			assert.NotEmpty(t, body)
		})
	}
}

func TestAGuardAcceptsPagesOfItsOwnOrigin(t *testing.T) {
	tests := cases.Read[struct {
		Addr, Host, Origin string // PORT is the server's; no host: its address
		Status             int
	}](t, "testdata/origins.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			web := serve(t, withToken(t, tt.Addr))
			_, port, err := net.SplitHostPort(strings.TrimPrefix(web, "http://"))
			require.NoError(t, err)
			header := []string{"Origin", strings.ReplaceAll(tt.Origin, "PORT", port)}
			if tt.Host != "" {
				header = append(header, "Host", strings.ReplaceAll(tt.Host, "PORT", port))
			}
			assert.Equal(t, tt.Status, ask(t, web, "/any", header...).StatusCode)
		})
	}
}

func TestAGuardRequiresTheToken(t *testing.T) {
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
	type row struct {
		Addr, Token string
		NoToken     bool
		Problem     string
	}
	tests := cases.Read[row](t, "testdata/tokens.yaml")
	tests["in letters of any alphabet"] = row{Addr: "127.0.0.1:0", Token: strings.Repeat("ж", 16)}
	tests["one that is a little short"] = row{Addr: "127.0.0.1:0", Token: token[1:], Problem: "fewer than 16"}
	tests["a short one in many bytes"] = row{Addr: "127.0.0.1:0", Token: strings.Repeat("ж", 15), Problem: "fewer than 16"}
	tests["a blank one"] = row{Addr: "127.0.0.1:0", Token: strings.Repeat(" ", 20), Problem: "blanks"}
	tests["one with what cannot be seen"] = row{Addr: "127.0.0.1:0", Token: strings.Repeat("\u200b", 16), Problem: "control"}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := guard.New(tt.Addr, tt.Token)
			if tt.NoToken {
				_, err = guard.WithoutToken(tt.Addr)
			}
			if tt.Problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.Problem)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.NotEmpty(t, problem.Hint)
			if tt.Token != "" {
				assert.NotContains(t, problem.Message+problem.Hint, tt.Token)
			}
		})
	}
}

func TestAGuardWithoutTokenRefusesOtherPages(t *testing.T) {
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
