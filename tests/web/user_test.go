package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// httpClient sends the requests of tests. The end of any httptest.Server breaks those of http.DefaultClient.
var httpClient = &http.Client{Transport: &http.Transport{}}

// A user has a home and a project of their own.
type user struct {
	t             testing.TB
	home, project string
	env           []string // settings beyond those of all users
}

// folder returns a new folder. At its end it retries the removal: the supervisor of a cancelled
// agent may still write.
func folder(t testing.TB) string {
	dir, err := os.MkdirTemp("", "flame-web-")
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Eventually(t, func() bool { return os.RemoveAll(dir) == nil }, time.Minute, 20*time.Millisecond)
	})
	return dir
}

func newUser(t testing.TB) *user {
	dir := folder(t)
	u := &user{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "orchard")}
	require.NoError(t, os.MkdirAll(filepath.Join(u.project, ".flame"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(u.home, "bin"), 0o755))
	return u
}

// command returns a command of flame as the user has it run in their project.
func (u *user) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(built, "flame"), args...)
	cmd.Dir = u.project
	cmd.Env = append([]string{
		"HOME=" + u.home, "PATH=" + filepath.Join(u.home, "bin") + ":" + built + ":/usr/bin:/bin", "TERM=xterm", "GIT_CONFIG_NOSYSTEM=1", "TZ=UTC",
	}, u.env...)
	return cmd
}

// flame runs a command of flame that must succeed, and returns its output.
func (u *user) flame(args ...string) string {
	cmd := u.command(context.Background(), args...)
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	require.NoError(u.t, err, "flame %s: %s", strings.Join(args, " "), wrong.String())
	return strings.TrimSpace(string(out))
}

var frameID = regexp.MustCompile(`(frame|plan)-[a-z0-9]{8}\b`)

// id runs a command and returns the first frame that its answer names.
func (u *user) id(args ...string) string {
	said := u.flame(args...)
	id := frameID.FindString(said)
	require.NotEmpty(u.t, id, said)
	return id
}

// A server is a running `flame web`.
type server struct {
	u       *user
	cmd     *exec.Cmd
	address string // with the token
	base    string // without the token
	token   string
	project string // as the server names it
}

// serve starts `flame web`; it ends with the test.
func (u *user) serve(args ...string) *server {
	s := &server{u: u, cmd: u.command(context.Background(), append([]string{"web", "--no-open"}, args...)...)}
	out, err := s.cmd.StdoutPipe()
	require.NoError(u.t, err)
	var wrong bytes.Buffer
	s.cmd.Stderr = &wrong
	require.NoError(u.t, s.cmd.Start())
	u.t.Cleanup(s.kill)
	s.address, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(u.t, err, "flame web: %s", wrong.String())
	s.address = strings.TrimSpace(s.address)
	s.base, s.token, _ = strings.Cut(s.address, "/#t=")
	s.project = filepath.Base(u.flame("where"))
	return s
}

// kill ends the server at once.
func (s *server) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Signal(syscall.SIGKILL)
		_ = s.cmd.Wait()
	}
}

// ask sends a request; header holds names and values in turn.
func (s *server) ask(method, path, body string, header ...string) (status int, answer string, headers http.Header) {
	r, err := http.NewRequestWithContext(s.u.t.Context(), method, s.base+path, strings.NewReader(body))
	require.NoError(s.u.t, err)
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	got, err := httpClient.Do(r)
	require.NoError(s.u.t, err)
	defer got.Body.Close()
	content, err := io.ReadAll(io.LimitReader(got.Body, 1<<20))
	require.NoError(s.u.t, err)
	return got.StatusCode, string(content), got.Header
}

// imported makes a project of so many frames, in sessions of a hundred below one root each.
func (u *user) imported(count int) {
	const begun = 1_760_000_000_000
	frames := make([]map[string]any, count)
	for i := range frames {
		f := map[string]any{
			"sessionID": fmt.Sprintf("frame-%08d", i), "status": "completed", "title": fmt.Sprintf("Work %d of many", i),
			"createdAt": begun + i*1000, "updatedAt": begun + i*1000 + 900,
		}
		up := i - i%100
		if i%10 < 4 && i%10 > 0 { // a chain of four below each tenth
			up = i - 1
		}
		if up != i {
			f["parentSessionID"] = fmt.Sprintf("frame-%08d", up)
		}
		frames[i] = f
	}
	u.brought(frames...)
}

// brought makes a project of frames as an export has them.
func (u *user) brought(frames ...map[string]any) {
	all := map[string]any{}
	for _, f := range frames {
		for _, name := range []string{"artifacts", "decisions"} {
			if f[name] == nil {
				f[name] = []string{}
			}
		}
		all[f["sessionID"].(string)] = f
	}
	content, err := json.Marshal(map[string]any{"version": 1, "frames": all, "rootFrameIDs": []string{}})
	require.NoError(u.t, err)
	file := filepath.Join(u.t.TempDir(), "state.json")
	require.NoError(u.t, os.WriteFile(file, content, 0o600))
	u.flame("import", file)
}

// showcase fills the user's project with two days of work of agents, or changes frames of it.
func (u *user) showcase(args ...string) {
	cmd := exec.Command(filepath.Join(built, "showcase"), append(args, u.project)...)
	cmd.Env = []string{"HOME=" + u.home}
	out, err := cmd.CombinedOutput()
	require.NoError(u.t, err, string(out))
}

// servedHarvest returns the server of a project with one frame, its root, in a parallel test.
func servedHarvest(t *testing.T) (u *user, root string, s *server) {
	t.Parallel()
	u = newUser(t)
	root = u.id("push", "The harvest")
	return u, root, u.serve()
}

// harvest is servedHarvest with an empty tab.
func harvest(t *testing.T) (u *user, root string, s *server, tb *tab) {
	u, root, s = servedHarvest(t)
	return u, root, s, newTab(t)
}

// servedShowcase returns the server of a project with two days of work, in a parallel test.
func servedShowcase(t *testing.T) (u *user, s *server) {
	t.Parallel()
	u = newUser(t)
	u.showcase()
	return u, u.serve()
}

// showcased is servedShowcase with an empty tab.
func showcased(t *testing.T) (u *user, s *server, tb *tab) {
	u, s = servedShowcase(t)
	return u, s, newTab(t)
}
