package web

import (
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWithoutATokenThereIsNoData(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	id := u.id("push", "The harvest")
	s := u.serve()
	bearer := "Bearer " + s.token
	tests := map[string]struct {
		header []string
		status int
	}{
		"the token":                       {[]string{"Authorization", bearer}, http.StatusOK},
		"the token, from the page itself": {[]string{"Authorization", bearer, "Origin", s.base}, http.StatusOK},
		"no token":                        {nil, http.StatusUnauthorized},
		"a wrong token":                   {[]string{"Authorization", bearer + "x"}, http.StatusUnauthorized},
		"half of the token":               {[]string{"Authorization", bearer[:len(bearer)-8]}, http.StatusUnauthorized},
		"an empty token":                  {[]string{"Authorization", "Bearer "}, http.StatusUnauthorized},
		"the token as a password":         {[]string{"Authorization", "Basic " + s.token}, http.StatusUnauthorized},
		"the token in a cookie":           {[]string{"Cookie", "token=" + s.token + "; flame=" + s.token}, http.StatusUnauthorized},
		"a foreign origin":                {[]string{"Authorization", bearer, "Origin", "https://evil.example"}, http.StatusForbidden},
		"a foreign origin of loopback":    {[]string{"Authorization", bearer, "Origin", "http://127.0.0.1:1"}, http.StatusForbidden},
		"a sandboxed page":                {[]string{"Authorization", bearer, "Origin", "null"}, http.StatusForbidden},
		"a foreign name":                  {[]string{"Authorization", bearer, "Host", "evil.example"}, http.StatusForbidden},
		"a foreign name with our port":    {[]string{"Authorization", bearer, "Host", "evil.example:80"}, http.StatusForbidden},
	}
	of := "/api/" + s.project + "/"
	paths := []string{"/api/projects", of + "overview"}
	for _, question := range []string{"frame?id=" + id, "context?id=" + id, "log?id=" + id, "agent?id=x", "search?q=harvest", "cascade?id=" + id, "economy"} {
		paths = append(paths, of+question)
	}
	for name, tt := range tests {
		for _, path := range paths {
			status, said, _ := s.ask(http.MethodGet, path, "", tt.header...)
			if tt.status == http.StatusOK && !strings.Contains(path, "/agent?") && !strings.Contains(path, "/log?") { // there are none
				assert.Equal(t, tt.status, status, "%s: %s: %s", name, path, said)
			} else if tt.status != http.StatusOK {
				assert.Equal(t, tt.status, status, "%s: %s: %s", name, path, said)
				assert.NotContains(t, said, "harvest", "%s: %s", name, path)
			}
		}
		if tt.status == http.StatusOK {
			continue
		}
		for _, action := range []string{"activate", "pop", "goal", "invalidate", "cancel", "settle"} {
			header := append([]string{"Content-Type", "application/json"}, tt.header...)
			status, said, _ := s.ask(http.MethodPost, of+action, `{"frame":"`+id+`","text":"taken over"}`, header...)
			assert.Equal(t, tt.status, status, "%s: %s: %s", name, action, said)
		}
		status, said, _ := s.ask(http.MethodGet, of+"live", "", tt.header...)
		assert.Equal(t, tt.status, status, "%s: live: %s", name, said)
	}
	for _, query := range []string{"?t=" + s.token, "?token=" + s.token} {
		status, _, _ := s.ask(http.MethodGet, "/api/projects"+query, "")
		assert.Equal(t, http.StatusUnauthorized, status, "a token in the address of a request")
	}
	assert.Contains(t, u.flame("show", id), "The harvest", "no action was done")
}

func TestTheFilesOfThePageNeedNoToken(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	s := u.serve()
	paths := []string{"/", "/start.json"}
	require.NoError(t, fs.WalkDir(os.DirFS("../../web/page"), ".", func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() && path != "index.html" { // which is "/"
			paths = append(paths, "/"+path)
		}
		return err
	}))
	require.Greater(t, len(paths), 8)
	for _, path := range paths {
		status, said, header := s.ask(http.MethodGet, path, "")
		assert.Equal(t, http.StatusOK, status, path)
		assert.NotContains(t, said, s.token, path)
		assert.NotContains(t, said, "harvest", path)
		policy := header.Get("Content-Security-Policy")
		assert.Contains(t, policy, "default-src 'none'", path)
		assert.NotContains(t, policy, "unsafe-", path)
		assert.NotContains(t, policy, "*", path)
		assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		assert.Empty(t, header.Get("Set-Cookie"), path)
		assert.Empty(t, header.Get("Access-Control-Allow-Origin"), path)
		for _, foreign := range [][]string{{"Host", "evil.example"}, {"Origin", "https://evil.example"}} {
			status, _, _ := s.ask(http.MethodGet, path, "", foreign...)
			assert.Equal(t, http.StatusForbidden, status, "%s: %v", path, foreign)
		}
	}
}

// A person may have lost the token, or kept an older one.
func TestThePageAsksForItsToken(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	s := u.serve()
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
