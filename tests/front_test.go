package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/processes"
)

// A fronted is a user with a program called claude on PATH, a script, and a model that records its
// requests.
type fronted struct {
	*sealed
	t        *testing.T
	upstream *httptest.Server
	seen     chan *http.Request
}

// newFronted uses script as claude; the script finds its folder in $TOP.
func newFronted(t *testing.T, script string) *fronted {
	f := &fronted{sealed: newSealed(t), t: t, seen: make(chan *http.Request, 100)}
	f.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.seen <- r
		fmt.Fprint(w, "from the model")
	}))
	t.Cleanup(f.upstream.Close)
	f.write(filepath.Join(f.bin, "claude"), "#!/bin/sh\nTOP='"+filepath.Dir(f.home)+"'\n"+script)
	f.env = append(f.env, "ANTHROPIC_BASE_URL="+f.upstream.URL)
	return f
}

// text waits for a file below the folder of the test; the test's program writes it in one step.
func (f *fronted) text(name string) (text string) {
	path := filepath.Join(filepath.Dir(f.home), name)
	require.Eventually(f.t, func() bool {
		raw, err := os.ReadFile(path)
		text = string(raw)
		return err == nil && len(raw) > 0
	}, soon, 5*time.Millisecond, "%s is not written", name)
	return text
}

// base returns the base URL in claude's settings.
func (f *fronted) base(settings string) string {
	var s struct{ Env map[string]string }
	require.NoError(f.t, json.Unmarshal([]byte(settings), &s))
	return s.Env["ANTHROPIC_BASE_URL"]
}

// folders returns those of fronts in the project's data.
func (f *fronted) folders() []string {
	found, err := filepath.Glob(filepath.Join(f.home, ".local", "share", "flame", "*", "gateway", "*"))
	require.NoError(f.t, err)
	return found
}

// tells records the program's arguments, settings and process.
const tells = `
printf '%s\n' "$@" >$TOP/args.new; mv $TOP/args.new $TOP/args
for word; do [ -f "$word" ] && cp "$word" $TOP/settings.new && mv $TOP/settings.new $TOP/settings; done
echo $$ >$TOP/pid.new; mv $TOP/pid.new $TOP/pid
`

func TestRequestsOfAProgramReachItsModel(t *testing.T) {
	t.Parallel()
	f := newFronted(t, "exec 3>&- 4>&-\n"+tells+`read line; exit 0`) // sudo, su and sandboxes close inherited files
	f.write(filepath.Join(f.project, ".claude", "settings.json"), `{"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:1/evil"}}`)
	cmd, end, errs := f.begin("claude", "-p")
	base := f.base(f.text("settings"))
	assert.Equal(t, "from the model", get(t, base+"/v1/models?after=x"))
	got := <-f.seen
	assert.Equal(t, "/v1/models?after=x", got.URL.String())
	outside := strings.TrimSuffix(base, filepath.Base(base))
	for _, wrong := range []string{outside, outside + "v1/models", base + "x/v1/models"} {
		answer, err := httpClient.Get(wrong)
		require.NoError(t, err)
		assert.Equal(t, http.StatusNotFound, answer.StatusCode, wrong)
		require.NoError(t, answer.Body.Close())
	}
	f.text("pid") // the program starts no more children, which at first have its command line
	f.private(base)
	end()
	assert.NoError(t, endsSoon(t, cmd))
	assert.Contains(t, errs.String(), "[flame] ")
	assert.Contains(t, errs.String(), ".claude/settings.json sets ANTHROPIC_BASE_URL, which flame ignores")
	assert.Len(t, strings.Split(strings.TrimSpace(errs.String()), "\n"), 1)
	assert.Empty(t, f.seen)
	f.free(base)
}

// begin starts flame; end closes its stdin.
func (f *fronted) begin(args ...string) (cmd *exec.Cmd, end func(), stderr *bytes.Buffer) {
	cmd, stderr = f.command(args...), &bytes.Buffer{}
	in, err := cmd.StdinPipe()
	require.NoError(f.t, err)
	cmd.Stderr = stderr
	require.NoError(f.t, cmd.Start())
	f.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, func() { _ = in.Close() }, stderr
}

// private checks that only the user can read the files of a run.
func (f *fronted) private(base string) {
	secret := filepath.Base(base)
	require.Len(f.t, secret, 26)
	folders := f.folders()
	require.Len(f.t, folders, 1)
	files := 0
	require.NoError(f.t, filepath.WalkDir(filepath.Dir(folders[0]), func(path string, d fs.DirEntry, err error) error {
		require.NoError(f.t, err)
		info, err := d.Info()
		require.NoError(f.t, err)
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		assert.Equal(f.t, want, info.Mode().Perm(), path)
		return nil
	}))
	assert.Equal(f.t, 2, files)
	ours := 0
	for _, pid := range processes.All(f.t) {
		line := processes.Command(pid)
		assert.NotContains(f.t, line, secret)
		if strings.Contains(line, filepath.Base(folders[0])) {
			ours++
		}
	}
	assert.Equal(f.t, 1, ours, "the program's own")
}

// free waits until the port of a base URL is free.
func (f *fronted) free(base string) {
	at, err := url.Parse(base)
	require.NoError(f.t, err)
	require.Eventually(f.t, func() bool {
		l, err := net.Listen("tcp", at.Host)
		if err == nil {
			_ = l.Close()
		}
		return err == nil
	}, soon, 10*time.Millisecond, "the port is taken")
}

func get(t *testing.T, url string) string {
	client := http.Client{Timeout: soon, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(answer.Body)
	require.NoError(t, err)
	return text.String()
}

// gatewayOf returns the process of the gateway that a process started.
func gatewayOf(t *testing.T, flame int) (pid int) {
	require.Eventually(t, func() bool {
		for _, pid = range processes.All(t) {
			if strings.Contains(processes.Command(pid), "gateway --inherited") && processes.Parent(pid) == flame && processes.Runs(pid) {
				return true
			}
		}
		return false
	}, soon, 5*time.Millisecond)
	return pid
}

func TestADeadGatewayIsRestarted(t *testing.T) {
	t.Parallel()
	onLinux(t)
	f := newFronted(t, tells+`read line; exit 0`)
	cmd, end, errs := f.begin("claude")
	base := f.base(f.text("settings"))
	last := 0
	for range 3 {
		pid := gatewayOf(t, cmd.Process.Pid)
		assert.NotEqual(t, last, pid)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		assert.Equal(t, "from the model", get(t, base+"/v1/models"), "what connects meanwhile waits")
		last = pid
	}
	end()
	assert.NoError(t, endsSoon(t, cmd))
	assert.Empty(t, errs.String(), "the terminal is the program's")
	f.free(base)
}

// onLinux skips a test on other systems.
func onLinux(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
}

func TestAProgramEndsWithTheFlameThatStartedIt(t *testing.T) {
	t.Parallel()
	onLinux(t)
	f := newFronted(t, tells+`exec sleep 1000`)
	cmd, _, _ := f.begin("claude")
	base := f.base(f.text("settings"))
	assert.Equal(t, "from the model", get(t, base+"/v1/models"))
	pid, err := strconv.Atoi(strings.TrimSpace(f.text("pid")))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, soon, 5*time.Millisecond)
	f.free(base)

	left := f.folders()
	require.Len(t, left, 1)
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(left[0], long, long))
	_ = cmd.Wait()
	_, end, _ := f.begin("claude")
	require.Eventually(t, func() bool {
		now := f.folders()
		return len(now) == 1 && now[0] != left[0]
	}, soon, 5*time.Millisecond, "what it left is removed")
	end()
}

func TestSignalsAndStatusesPass(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		script string
		send   syscall.Signal
		status int
		signal syscall.Signal
	}{
		"a program that handles SIGTERM": {"trap 'exit 9' TERM", syscall.SIGTERM, 9, 0},
		"a program that handles SIGINT":  {"trap 'exit 10' INT", syscall.SIGINT, 10, 0},
		"a program that handles SIGHUP":  {"trap 'exit 11' HUP", syscall.SIGHUP, 11, 0},
		"a program that handles SIGUSR1": {"trap 'exit 12' USR1", syscall.SIGUSR1, 12, 0},
		"a program that SIGTERM ends":    {"", syscall.SIGTERM, 0, syscall.SIGTERM},
		"a program that SIGHUP ends":     {"", syscall.SIGHUP, 0, syscall.SIGHUP},
		"a program that SIGQUIT ends":    {"ulimit -c 0", syscall.SIGQUIT, 131, 0},
		"a program that kills itself":    {"kill -KILL $$", 0, 0, syscall.SIGKILL},
		"a program that aborts":          {"ulimit -c 0; kill -ABRT $$", 0, 134, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFronted(t, tt.script+"\n"+tells+"while :; do sleep 0.01; done")
			cmd, _, errs := f.begin("claude")
			if tt.send != 0 {
				f.text("pid")
				require.NoError(t, cmd.Process.Signal(tt.send))
			}
			_ = endsSoon(t, cmd)
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if tt.signal != 0 {
				assert.Equal(t, tt.signal, status.Signal(), "%v", cmd.ProcessState)
			} else {
				assert.Equal(t, tt.status, status.ExitStatus(), "%v", cmd.ProcessState)
			}
			assert.Empty(t, errs.String())
			assert.Empty(t, f.folders())
		})
	}

}
