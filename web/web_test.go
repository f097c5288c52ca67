package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/hosts"
	"flame/local/guard"
	"flame/local/place"
	"flame/project"
	"flame/render/board"
	"flame/tests/projecttest"
	"flame/web"
)

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

const (
	token  = "0123456789abcdef0123"
	secret = "a secret that is as random as none is"
)

// A site is a server of the page with a project of its own.
type site struct {
	*projecttest.Fixture
	agents *agents.Agents
	base   string
}

func serve(t *testing.T, changes ...func(*web.Options)) site {
	f := projecttest.New(t)
	s := site{Fixture: f, agents: &agents.Agents{Setup: plan.Setup{Project: f.Project, Data: t.TempDir(), Hosts: hosts.Registry{}}, Root: "/home/me/thing"}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g, err := guard.New(listener.Addr().String(), token)
	require.NoError(t, err)
	g, err = g.ForPage("https://page.example:8443")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	opts := web.Options{
		Guard: g, Secret: secret, Project: "thing-1", Logger: slog.New(slog.DiscardHandler), Version: "1",
		Open: func(_ context.Context, name string) (board.Source, error) {
			if name != "thing-1" {
				return board.Source{}, core.NotFoundf("there is no project %q", name)
			}
			return board.Source{Agents: s.agents, Close: func() error { return nil }}, nil
		},
		Projects: func(context.Context) ([]web.ProjectInfo, error) {
			return []web.ProjectInfo{{ProjectData: place.ProjectData{Name: "thing-1"}}}, nil
		},
	}
	for _, with := range changes {
		with(&opts)
	}
	go func() { ended <- web.Serve(ctx, listener, opts) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	s.base = "http://" + listener.Addr().String()
	return s
}

// send sends a request with changes, and returns the status and the body.
func (s site) send(method, path, body string, change func(*http.Request)) (status int, answer string) {
	req, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	require.NoError(s.T, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(req)
	}
	got, err := httpClient.Do(req)
	require.NoError(s.T, err)
	defer got.Body.Close()
	content, err := io.ReadAll(got.Body)
	require.NoError(s.T, err)
	return got.StatusCode, string(content)
}

func TestOnlyItsOwnPageWithTheTokenGetsData(t *testing.T) {
	s := serve(t)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	_, port, _ := strings.Cut(strings.TrimPrefix(s.base, "http://"), ":")
	for name, tt := range map[string]struct {
		path   string
		change func(*http.Request)
		status int
	}{
		"the token":     {"/api/projects", nil, 200},
		"no token":      {"/api/projects", header("Authorization", ""), 401},
		"a wrong token": {"/api/projects", header("Authorization", "Bearer 0123456789abcdef0124"), 401},
		"the token in a cookie": {"/api/projects", func(r *http.Request) {
			r.Header.Del("Authorization")
			r.AddCookie(&http.Cookie{Name: "token", Value: token})
		}, 401},
		"the token in the address":     {"/api/projects?t=" + token, header("Authorization", ""), 401},
		"its own origin":               {"/api/projects", header("Origin", s.base), 200},
		"a foreign origin":             {"/api/projects", header("Origin", "http://evil.example"), 403},
		"another port of this machine": {"/api/projects", header("Origin", "http://127.0.0.1:1"), 403},
		"another name as Host":         {"/api/projects", host("evil.example:" + port), 403},
		"the public address": {"/api/projects", func(r *http.Request) {
			r.Host = "page.example:8443"
			r.Header.Set("Origin", "https://page.example:8443")
		}, 200},
		"the public address, otherwise":  {"/api/projects", header("Origin", "http://page.example:8443"), 403},
		"files need no token":            {"/", header("Authorization", ""), 200},
		"files for another Host":         {"/app.js", host("evil.example"), 403},
		"a file that is not there":       {"/secret", nil, 404},
		"a way out of the folder":        {"/..%2f..%2fgo.mod", nil, 404},
		"a way up, encoded twice":        {"/%2e%2e/go.mod", nil, 404},
		"a way to the root":              {"//etc/passwd", nil, 404},
		"a folder of the page":           {"/page/", nil, 404},
		"the data's token":               {"/http-token", nil, 404},
		"the database":                   {"/flame.db", nil, 404},
		"a project that is not there":    {"/api/other-1/frame?id=x", nil, 404},
		"a question that is not there":   {"/api/thing-1/secrets", nil, 404},
		"an action by asking":            {"/api/thing-1/goal?text=x", nil, 405},
		"a search without words":         {"/api/thing-1/search?q=", nil, 400},
		"a log from before its begin":    {"/api/thing-1/log?id=x&from=-1", nil, 404},
		"a frame that is not there":      {"/api/thing-1/frame?id=frame-none", nil, 404},
		"a place to sign in":             {"/.well-known/oauth-authorization-server", nil, 404},
		"a challenge that is too simple": {"/hello?challenge=1", header("Authorization", ""), 400},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := s.send(http.MethodGet, tt.path, "", tt.change)
			assert.Equal(t, tt.status, status, answer)
			assert.NotContains(t, answer, token)
		})
	}
}

func TestEveryQuestionAndActionNeedsTheToken(t *testing.T) {
	s := serve(t)
	for want, change := range map[int]func(r *http.Request){
		http.StatusUnauthorized: func(r *http.Request) { r.Header.Del("Authorization") },
		http.StatusForbidden:    func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
	} {
		for _, question := range []string{"frame", "context", "log", "agent", "search", "economy", "live"} {
			status, _ := s.send(http.MethodGet, "/api/thing-1/"+question+"?id=x&q=x", "", change)
			assert.Equal(t, want, status, question)
		}
		for _, action := range []string{"activate", "pop", "goal", "invalidate", "cancel", "settle"} {
			status, _ := s.send(http.MethodPost, "/api/thing-1/"+action, `{"frame":"x","text":"taken over"}`, change)
			assert.Equal(t, want, status, action)
		}
	}
}

func TestEveryAnswerHasThePolicy(t *testing.T) {
	s := serve(t)
	files, err := filepath.Glob("page/*.*")
	require.NoError(t, err)
	paths := []string{"/", "/start.json", "/api/projects", "/nothing"}
	for _, file := range files {
		if name := filepath.Base(file); name != "index.html" {
			paths = append(paths, "/"+name)
		}
	}
	for _, path := range paths {
		got, err := httpClient.Get(s.base + path)
		require.NoError(t, err)
		got.Body.Close()
		policy := got.Header.Get("Content-Security-Policy")
		assert.Contains(t, policy, "default-src 'none'", path)
		assert.NotContains(t, policy, "unsafe-", path)
		if got.StatusCode == http.StatusOK {
			assert.Equal(t, "no-store", got.Header.Get("Cache-Control"), path)
		}
		assert.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"), path)
		assert.Empty(t, got.Header.Values("Set-Cookie"), path)
		assert.Empty(t, got.Header.Values("Access-Control-Allow-Origin"), path)
	}
}

func TestThePageNeverMakesHTMLOfText(t *testing.T) {
	names, err := filepath.Glob("page/*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "https://"} {
			assert.NotContains(t, string(content), way, name)
		}
	}
}

func TestActionsOfThePage(t *testing.T) {
	s := serve(t)
	top := s.Push(projecttest.Host("s"), "top")
	plan := s.Plan(projecttest.Host("s"), top.ID, "later")[0]
	act := func(path, body string) (int, string) { return s.send(http.MethodPost, "/api/thing-1/"+path, body, nil) }
	said := func(status int, answer string) string {
		require.Equal(t, 200, status, answer)
		var told struct{ Said string }
		require.NoError(t, json.Unmarshal([]byte(answer), &told))
		return told.Said
	}
	assert.Contains(t, said(act("goal", `{"frame":"`+top.ID+`","text":"a better goal"}`)), top.ID)
	assert.Equal(t, "a better goal", s.Get(top.ID).Goal)

	status, answer := s.send(http.MethodGet, "/api/thing-1/cascade?id="+top.ID, "", nil)
	assert.Equal(t, 200, status)
	assert.JSONEq(t, `{"planned":{"count":1,"first":[{"id":"`+plan.ID+`","goal":"later"}]},"inProgress":{"count":0,"first":[]}}`, answer)
	assert.Equal(t, core.Planned, s.Get(plan.ID).Status, "looking changes nothing")

	assert.Contains(t, said(act("activate", `{"frame":"`+plan.ID+`","session":"s"}`)), "planned -> in_progress")
	assert.Equal(t, plan.ID, s.Current(projecttest.Host("s")))
	said(act("pop", `{"frame":"`+plan.ID+`","status":"completed","text":"it is done"}`))
	assert.Equal(t, "it is done", s.Get(plan.ID).Summary)
	assert.Contains(t, said(act("invalidate", `{"frame":"`+top.ID+`","text":"no use"}`)), "invalidated")
	assert.Equal(t, core.Invalidated, s.Get(top.ID).Status)
}

func TestBadActionsChangeNothing(t *testing.T) {
	s := serve(t)
	top := s.Push(projecttest.Host("s"), "top")
	body := `{"frame":"` + top.ID + `","text":"other"}`
	for name, tt := range map[string]struct {
		path, body string
		change     func(*http.Request)
		status     int
	}{
		"a form":                 {"goal", "frame=" + top.ID, func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, 400},
		"text":                   {"goal", body, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 400},
		"a page of another site": {"goal", body, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"without the token":      {"goal", body, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"no frame":               {"goal", `{"text":"other"}`, nil, 400},
		"an unknown member":      {"goal", `{"frame":"x","mode":"bypass"}`, nil, 400},
		"more than one":          {"goal", body + body, nil, 400},
		"broken":                 {"goal", `{"frame":`, nil, 400},
		"too long":               {"goal", `{"text":"` + strings.Repeat("x", 2<<20) + `"}`, nil, 400},
		"starting an agent":      {"spawn", `{}`, nil, 404},
		"a grant":                {"grant", `{}`, nil, 404},
		"an unknown agent":       {"cancel", `{"agent":"agent-none"}`, nil, 404},
		"an unknown status":      {"pop", `{"frame":"` + top.ID + `","status":"great"}`, nil, 400},
		"no reason":              {"invalidate", `{"frame":"` + top.ID + `"}`, nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := s.send(http.MethodPost, "/api/thing-1/"+tt.path, tt.body, tt.change)
			assert.Equal(t, tt.status, status, answer)
			assert.Equal(t, "top", s.Get(top.ID).Goal)
			assert.Equal(t, core.InProgress, s.Get(top.ID).Status)
		})
	}
}

// lines follows the stream of a project.
func (s site) lines() (next func() map[string]any) {
	in, _ := s.follow()
	return func() map[string]any {
		raw, err := in.ReadBytes('\n')
		require.NoError(s.T, err)
		var line map[string]any
		require.NoError(s.T, json.Unmarshal(raw, &line))
		return line
	}
}

// shownNext returns the board of the next line that has one.
func shownNext(next func() map[string]any) map[string]any {
	for {
		if shown, is := next()["board"].(map[string]any); is {
			return shown
		}
	}
}

func TestAStreamSendsTheBoardAfterEachChange(t *testing.T) {
	s := serve(t)
	s.Push(projecttest.Host("s"), "one")
	next := s.lines()
	first := next()
	assert.Equal(t, "/home/me/thing", first["root"])
	assert.Len(t, first["board"].(map[string]any)["frames"], 2, "with the root of the session")
	s.Push(projecttest.Host("s"), "two")
	frames := shownNext(next)["frames"].([]any)
	require.Len(t, frames, 3)
	assert.Equal(t, "two", frames[2].(map[string]any)["goal"])
	assert.Len(t, shownNext(s.lines())["frames"], 3, "a second page gets the same")
}

// broken is a store that cannot be read for a while.
type broken struct {
	project.Store
	fails chan bool
	is    bool
}

func (b *broken) View(ctx context.Context, f func(project.Tx) error) error {
	select {
	case b.is = <-b.fails:
	default:
	}
	if b.is {
		return core.Unavailablef(nil, "the data is locked").WithHint("`flame doctor` says by whom")
	}
	return b.Store.View(ctx, f)
}

func TestAStreamReportsTroubleUntilItEnds(t *testing.T) {
	s := serve(t)
	fails := make(chan bool, 1)
	s.agents.Project.Store = &broken{Store: s.Project.Store, fails: fails}
	fails <- true
	next := s.lines()
	line := next()
	assert.Equal(t, map[string]any{"kind": "unavailable", "message": "the data is locked", "hint": "`flame doctor` says by whom"}, line["trouble"])
	fails <- false
	for line["trouble"] != nil {
		line = next()
	}
	assert.NotNil(t, line["board"])
}

func TestTheServerOfAProjectIsFoundWithoutSendingTheToken(t *testing.T) {
	s := serve(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	seen := make(chan string, 1)
	another := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all bytes.Buffer
		_ = r.Write(&all)
		seen <- all.String()
		// It asks the true server: the proof is for another address.
		got, err := httpClient.Get(s.base + r.URL.String())
		if err == nil {
			defer got.Body.Close()
			_, _ = io.Copy(w, got.Body)
		}
	})}
	go another.Serve(listener)
	t.Cleanup(func() { another.Close() })
	keys := web.ServerKeys{Addr: listener.Addr().String(), Token: token, Secret: secret}
	assert.False(t, keys.Answers(t.Context()))
	told := <-seen
	assert.NotContains(t, told, token)
	assert.NotContains(t, told, secret)
	keys.Addr = strings.TrimPrefix(s.base, "http://")
	assert.True(t, keys.Answers(t.Context()))
	keys.Secret = "another one of the same length as that"
	assert.False(t, keys.Answers(t.Context()))
}

func TestAServerStartedSoonAfterAnotherTakesOverItsKeys(t *testing.T) {
	running := web.ServerFile{Dir: t.TempDir()}
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}
	first := running.Next(at, "")
	assert.Equal(t, "127.0.0.1:4711", first.Addr)
	assert.NotEqual(t, first.Token, first.Secret)
	end, err := running.Keep(first)
	require.NoError(t, err)
	end()
	file := filepath.Join(running.Dir, "web.json")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	assert.Equal(t, first, running.Last())
	assert.Equal(t, first, running.Next(at, ""))
	assert.Equal(t, "of the user's own", running.Next(at, "of the user's own").Token)
	assert.Empty(t, running.Next(&net.TCPAddr{IP: net.IPv4zero, Port: 4711}, "").Addr, "others do not look beyond this machine")

	long := time.Now().Add(-11 * time.Minute)
	require.NoError(t, os.Chtimes(file, long, long))
	assert.Zero(t, running.Last())
	later := running.Next(at, "")
	assert.NotEqual(t, first.Token, later.Token)
	assert.NotEqual(t, first.Secret, later.Secret)
}

func TestFlameChecksAKeyFileBeforeUse(t *testing.T) {
	note := func(addr string) string {
		return `{"addr":"` + addr + `","token":"` + token + `","secret":"` + secret + `"}`
	}
	for name, content := range map[string]string{
		"one that others can read": note("127.0.0.1:80"), "elsewhere": note("192.0.2.1:80"),
		"a name": note("localhost:80"), "no port": note("127.0.0.1"), "port 0": note("127.0.0.1:0"),
		"nothing": ``, "broken": `{"addr"`, "no secret": `{"addr":"127.0.0.1:80","token":"` + token + `"}`, "endless": note(strings.Repeat("1", 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "web.json"), []byte(content), 0o600))
			if name == "one that others can read" {
				require.NoError(t, os.Chmod(filepath.Join(dir, "web.json"), 0o644))
			}
			assert.Empty(t, web.ServerFile{Dir: dir}.Last().Addr)
		})
	}
}
