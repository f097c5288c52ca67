package web

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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

// A person may have lost the token, or kept an older one.
func TestThePageAsksForItsToken(t *testing.T) {
	_, _, s := servedHarvest(t)
	for _, address := range []string{s.base + "/", s.base + "/#t=wrong"} {
		tb := newTab(t)
		tb.theme("dark")
		tb.expect("401")
		tb.do(navigate(address))
		tb.until(`document.querySelector("#state:not([hidden]) input")`)
		tb.until(`document.querySelectorAll("[role=treeitem]").length === 0`)
		tb.focus("#state input")
		tb.press("wrong as well", enter)
		tb.until(`document.querySelector("#state:not([hidden]) input") && !document.querySelector("#state input").value`)
		tb.focus("#state input")
		tb.press(s.address, enter)
		tb.drawn()
		tb.until(`document.querySelector("[role=treeitem]")?.innerText.includes("The harvest")`)
		assert.NotContains(t, eval[string](tb, "location.href"), s.token, "the token does not stay in the address")
		assert.Empty(t, eval[string](tb, "document.cookie"))
	}
}

// Open pages never give their token to a program that takes the port of a server that has ended.
func TestAProgramOnTheOldPortNeverGetsTheToken(t *testing.T) {
	_, _, s, tb := harvest(t)
	tb.expect("ERR_")
	tb.expect("404")
	tb.open(s.address)
	tb.until(`document.querySelector(".live.is-live")`)
	tb.settled() // between the proof of a server and the request that follows it are some milliseconds
	s.kill()
	listener, err := net.Listen("tcp", strings.TrimPrefix(s.base, "http://"))
	require.NoError(t, err)
	var mu sync.Mutex
	var paths, told []string
	another := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
		told = append(told, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"proof":"` + strings.Repeat("0", 64) + `"}`))
	})}
	go another.Serve(listener)
	t.Cleanup(func() { another.Close() })
	tb.until(`document.querySelector("#state")?.innerText.includes("Another server answers here")`)
	refused := eval[string](tb, `import("./net.js").then((net) => net.ask("projects")).then(String, String)`)
	assert.Contains(t, refused, "the server is gone")
	mu.Lock()
	defer mu.Unlock()
	assert.Contains(t, paths, "/hello")
	for i, header := range told {
		assert.Empty(t, header, paths[i])
	}
}

// Long after a server has ended, another one has other keys. An open page does not give it the old
// token, until a person gives the page the new address.
func TestAServerWithOtherKeysNeedsItsNewAddress(t *testing.T) {
	u, root, s, tb := harvest(t)
	tb.expect("ERR_")
	tb.open(s.address)
	tb.until(`document.querySelector(".live.is-live")`)
	tb.settled() // as above
	s.kill()
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(u.flame("where"), "web.json"), long, long))
	again := u.serve("--http", strings.TrimPrefix(s.base, "http://"))
	assert.Equal(t, s.base, again.base)
	assert.NotEqual(t, s.token, again.token)
	tb.until(`document.querySelector("#state")?.innerText.includes("Another server answers here")`)
	eval[bool](tb, `(location.hash = "#t=`+again.token+`") !== ""`)
	tb.until(fmt.Sprintf(`document.querySelector(".live.is-live") && document.getElementById("line-%s")`, root))
	tb.until(`document.querySelector("#state").hidden`)
}
