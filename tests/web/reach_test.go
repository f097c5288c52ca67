package web

import (
	"bytes"
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
	t.Helper()
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
	without := newUser(t)
	without.id("push", "The harvest")
	own := without.serve()
	other := httptest.NewServer(&httputil.ReverseProxy{Transport: &http.Transport{}, Rewrite: func(r *httputil.ProxyRequest) {
		to, _ := url.Parse(own.base)
		r.SetURL(to)
		r.Out.Host = "flame.example"
	}})
	t.Cleanup(other.Close)
	s := &server{u: without, base: other.URL}
	status, said, _ := s.ask(http.MethodGet, "/", "")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, said, "--public-url", "the error has a hint")
}

// token is the token of the pages of a user's project.
func token(t *testing.T, u *user) string {
	t.Helper()
	_, known, found := strings.Cut(u.flame("web", "--no-open"), "#t=") // a server runs already
	require.True(t, found)
	return known
}

func TestASecondServerIsTheFirst(t *testing.T) {
	u, _, s := servedHarvest(t)
	assert.Equal(t, s.address, u.flame("web", "--no-open"), "the page that is there is shown, and the command ends")
}

func TestAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	cmd := u.command(t.Context(), "web", "--no-open", "--http", taken.Addr().String())
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	assert.Error(t, cmd.Run())
	assert.Contains(t, wrong.String(), "cannot listen")
	assert.Contains(t, wrong.String(), "--http")

	// If another program has taken the last port, the server takes any free one.
	first := u.serve()
	first.kill()
	other, err := net.Listen("tcp", strings.TrimPrefix(first.base, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { other.Close() })
	second := u.serve()
	assert.NotEqual(t, first.base, second.base)
	status, _, _ := second.ask(http.MethodGet, "/api/projects", "", "Authorization", "Bearer "+second.token)
	assert.Equal(t, http.StatusOK, status)
}

// On a machine without a desktop the command prints the address and how to use it.
func TestWithoutABrowserTheAddressIsPrinted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	u.serve()
	cmd := u.command(t.Context(), "web")
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "/#t=")
	assert.Contains(t, wrong.String(), "open the address above")
}

// Durations of running work are by the server's clock, whatever the browser's says.
func TestClocksThatDiffer(t *testing.T) {
	_, _, s := servedHarvest(t)
	for name, ahead := range map[string]int{"an hour ahead": 3_600_000, "two days behind": -172_800_000} {
		tb := newTab(t)
		tb.before(fmt.Sprintf(`{ const now = Date.now; Date.now = () => now() + %d; }`, ahead))
		tb.open(s.address)
		tb.until(`/ [sm]\b/.test(document.querySelector("[role=treeitem] > span:nth-child(3)")?.innerText)`)
		lasted := eval[string](tb, `document.querySelector("[role=treeitem] > span:nth-child(3)").innerText`)
		assert.Regexp(t, `^((<1|\d+) s|\d m( \d+ s)?)$`, lasted, name)
		assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), name)
		assert.Equal(t, 1, eval[int](tb, `[...document.querySelectorAll(".box")].filter((el) => el.getBoundingClientRect().width > 100).length`), name)
	}
}
