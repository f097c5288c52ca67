package web

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// freePort returns a free address of this machine.
func freePort(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// A proxy or a forwarded port has another name than the server.
func TestThePageBehindAProxy(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	root := u.id("push", "The harvest")
	behind := freePort(t)
	target, err := url.Parse("http://" + behind)
	require.NoError(t, err)
	tests := map[string]func(r *httputil.ProxyRequest){
		"that passes the name on": func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		"that has its own name":   func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	front := httptest.NewUnstartedServer(nil)
	front.Start()
	t.Cleanup(front.Close)
	u.serve("--http", behind, "--public-url", front.URL)
	for name, rewrite := range tests {
		t.Run(name, func(t *testing.T) {
			front.Config.Handler = &httputil.ReverseProxy{Rewrite: rewrite, Transport: &http.Transport{}, FlushInterval: -1, ErrorLog: nil}
			s := &server{u: u, base: front.URL, token: token(t, u)}
			tb := newTab(t)
			tb.expect("/log?")
			tb.fresh(s)
			tb.choose(root)
			id := u.id("push", "Through "+name)
			tb.until(fmt.Sprintf(`document.getElementById("line-%s")`, id))
			tb.asks("goal")
			tb.agree()
		})
	}
	status, said, _ := newUser(t).serve().ask(http.MethodGet, "/", "", "Host", "flame.example")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, said, "--public-url", "the error has a hint")
}

// token is the token of the pages of a user's project.
func token(t *testing.T, u *user) string {
	_, known, found := strings.Cut(u.flame("web", "--no-open"), "#t=") // a server runs already
	require.True(t, found)
	return known
}
