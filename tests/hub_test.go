package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/effort"
)

// natsServer returns the path of the real server, of the version in go.mod.
func natsServer(t *testing.T) string {
	t.Helper()
	natsBuilt.once.Do(func() {
		natsBuilt.path = filepath.Join(filepath.Dir(flameBinary(t)), "nats", "nats-server") // in a folder of its own, so that other tests have none on PATH
		cmd := exec.Command("go", "build", "-o", natsBuilt.path, "github.com/nats-io/nats-server/v2")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			natsBuilt.path = ""
			t.Logf("build nats-server: %v\n%s", err, out)
		}
	})
	require.NotEmpty(t, natsBuilt.path, "nats-server was not built")
	return natsBuilt.path
}

var natsBuilt struct {
	once sync.Once
	path string
}

// hubPatience is how long the tests of hubs wait for an expected event.
const hubPatience = 60 * time.Second

// A machine is a home with a checkout of a project.
type machine struct {
	*testing.T
	home, checkout string
	server         string // path of nats-server
	bin            string // folder of programs that only this machine has; empty: none
}

// machines returns machines with clones of one repository. Their tests are heavy.
func machines(t *testing.T, names ...string) (all []machine) {
	t.Helper()
	effort.Heavy(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	server := natsServer(t)
	base := t.TempDir()
	origin := filepath.Join(base, "shop")
	for _, args := range [][]string{
		{"init", "-q", origin}, {"-C", origin, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "one"},
	} {
		out, err := exec.Command("git", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, name := range names {
		m := machine{T: t, home: filepath.Join(base, name), checkout: filepath.Join(base, name, "shop"), server: server}
		require.NoError(t, os.Mkdir(m.home, 0o700))
		out, err := exec.Command("git", "clone", "-q", origin, m.checkout).CombinedOutput()
		require.NoError(t, err, "%s", out)
		all = append(all, m)
	}
	return all
}

// command returns a command of flame on the machine.
func (m machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(flameBinary(m.T), args...)
	cmd.Dir = m.checkout
	cmd.Env = []string{"HOME=" + m.home, "PATH=" + m.bin + ":" + filepath.Dir(m.server) + ":/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
	return cmd
}

// flame runs a command that must succeed, and returns its answer.
func (m machine) flame(args ...string) string {
	m.Helper()
	cmd := m.command(args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	require.NoError(m, err, "flame %s: %s", strings.Join(args, " "), complaint.String())
	return string(out)
}

// fails runs a command that must fail, and returns its complaint.
func (m machine) fails(args ...string) string {
	m.Helper()
	out, err := m.command(args...).CombinedOutput()
	require.Error(m, err, "flame %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// A hubProcess is a running `flame hub`.
type hubProcess struct {
	cmd     *exec.Cmd
	address string
	said    *heard     // on stderr
	ended   chan error // receives how it ended, then is closed
}

// heard is the output of a process so far.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it.
func (h *heard) Write(text []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(text)
}

// String returns it.
func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

var listensOn = regexp.MustCompile(`the hub listens on (\S+),`)

// hub starts a hub, and returns once machines can connect.
func (m machine) hub(args ...string) hubProcess {
	m.Helper()
	return startHub(m.T, m.command(append([]string{"hub", "--temporary"}, args...)...))
}

// startHub starts a hub by its command.
func startHub(t *testing.T, cmd *exec.Cmd) hubProcess {
	t.Helper()
	h := hubProcess{cmd: cmd, said: &heard{}, ended: make(chan error, 1)}
	said, err := h.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, h.cmd.Start())
	t.Cleanup(func() { // its server writes until it ends
		_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-h.ended
	})
	lines := bufio.NewScanner(io.TeeReader(said, h.said)) // it may read ahead
	var all []string
	for h.address == "" && lines.Scan() {
		all = append(all, lines.Text())
		if found := listensOn.FindStringSubmatch(lines.Text()); found != nil {
			h.address = found[1]
		}
	}
	go func() {
		_, _ = io.Copy(h.said, said) // until it ends
		h.ended <- h.cmd.Wait()
		close(h.ended)
	}()
	require.NotEmpty(t, h.address, strings.Join(all, "\n"))
	return h
}

// end ends the hub with a signal and waits until its address no longer answers.
func (h hubProcess) end(t *testing.T, by syscall.Signal) {
	t.Helper()
	require.NoError(t, h.cmd.Process.Signal(by))
	select {
	case err := <-h.ended:
		if by == syscall.SIGTERM {
			require.NoError(t, err)
		}
	case <-time.After(hubPatience):
		require.Fail(t, "flame hub did not end")
	}
	require.Eventually(t, func() bool { return !h.answers() }, hubPatience, 20*time.Millisecond, "its server goes on")
}

// answers reports whether a server listens at the hub's address.
func (h hubProcess) answers() bool {
	conn, err := net.Dial("tcp", h.address)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// joinLine matches the output of `flame hub invite`; the group is the argument.
var joinLine = regexp.MustCompile(`^flame join '(tls://[^']+)'\n$`)

// invite returns the argument of the line for another machine.
func (m machine) invite(args ...string) string {
	m.Helper()
	found := joinLine.FindStringSubmatch(m.flame(append([]string{"hub", "invite"}, args...)...))
	require.NotNil(m, found)
	return found[1]
}

func TestMachinesJoinAndLeaveAHub(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "couch", "train")
	desk, couch, train := all[0], all[1], all[2]
	h := desk.hub("--listen", "127.0.0.1:0")
	assert.Contains(t, desk.fails("hub", "--temporary"), "a hub runs in")
	assert.Regexp(t, `^Joined project shop-[0-9a-f]{8} at tls://`+h.address, desk.flame("join"))
	line := desk.invite()
	couch.flame("join", line)
	assert.Contains(t, desk.fails("join", line), "already")
	assert.Contains(t, train.fails("join", line), "does not know this key", "it was used")
	for _, m := range []machine{desk, couch} {
		said := m.flame("doctor")
		assert.Contains(t, said, "joined project shop-")
		assert.Regexp(t, `the hub answers in \S+; nats-server 2\.`, said)
	}
	assert.Equal(t, 2, strings.Count(desk.flame("hub", "machines"), "\n"))
	train.flame("join", desk.invite("--expires", "1d"))

	couch.flame("leave")
	assert.Equal(t, 2, strings.Count(desk.flame("hub", "machines"), "\n"), "it gave its key back")
	assert.Contains(t, couch.flame("doctor"), "this project has joined no hub")
	name := regexp.MustCompile(`as machine (\S+)`).FindStringSubmatch(train.flame("doctor"))
	require.NotNil(t, name)
	desk.flame("hub", "remove", name[1])
	require.Eventually(t, func() bool { return strings.Contains(train.flame("doctor"), "does not know this key") }, hubPatience, 100*time.Millisecond)
	h.end(t, syscall.SIGTERM)
	assert.Contains(t, train.flame("doctor"), "no hub answers at")
}

func TestMachinesAnswerInJSON(t *testing.T) {
	t.Parallel()
	desk := machines(t, "desk")[0]
	desk.hub("--listen", "127.0.0.1:0")
	for _, line := range []string{"join", "hub invite", "hub machines", "leave"} {
		answer := desk.flame(append(strings.Fields(line), "--json")...)
		assert.True(t, json.Valid([]byte(answer)), "flame %s --json: %s", line, answer)
	}
	desk.flame("join")
	name := regexp.MustCompile(`as machine (\S+)`).FindStringSubmatch(desk.flame("doctor"))
	require.NotNil(t, name)
	answer := desk.flame("hub", "remove", name[1], "--json")
	assert.True(t, json.Valid([]byte(answer)), answer)
}

func TestAProjectJoinsAnExistingServer(t *testing.T) {
	t.Parallel()
	desk := machines(t, "desk")[0]
	withJetStream, without := desk.nats("-js", "-sd", filepath.Join(desk.home, "store"), "--auth", "aSecretToken"), desk.nats()
	assert.Contains(t, desk.fails("join", "nats://"+without), "has no JetStream")
	for _, wrong := range []string{"nats://" + withJetStream, "nats://aWrongToken@" + withJetStream} {
		said := desk.fails("join", wrong)
		assert.Contains(t, said, "refuses this machine")
		assert.NotContains(t, said, "aWrongToken")
	}
	assert.Contains(t, desk.flame("doctor"), "has joined no hub", "nothing is kept of what failed")
	said := desk.flame("join", "nats://aSecretToken@"+withJetStream, "--project", "shop")
	assert.Contains(t, said, "Joined project shop at nats://"+withJetStream)
	assert.NotContains(t, said, "aSecretToken")
	said = desk.flame("doctor")
	assert.Contains(t, said, "the hub answers in")
	assert.Contains(t, said, "flame cannot check whether that server writes data to disk before it acknowledges them")
	assert.NotContains(t, said, "aSecretToken")
	desk.flame("leave")
}

// nats starts a server without flame, and returns its address.
func (m machine) nats(args ...string) (address string) {
	m.Helper()
	cmd := exec.Command(m.server, append([]string{"-a", "127.0.0.1", "-p", "-1"}, args...)...)
	said, err := cmd.StderrPipe()
	require.NoError(m, err)
	require.NoError(m, cmd.Start())
	m.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	listens := regexp.MustCompile(`Listening for client connections on (\S+)`)
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if found := listens.FindStringSubmatch(lines.Text()); found != nil {
				ready <- found[1]
			}
		}
	}()
	select {
	case address = <-ready:
	case <-time.After(hubPatience):
		require.Fail(m, "nats-server does not listen")
	}
	return address
}

func TestAKilledHubRestartsUnchanged(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a server with the process that started it")
	}
	desk := machines(t, "desk")[0]
	for _, wrong := range []string{"5", "5MB", "200TB", "much"} {
		assert.Contains(t, desk.fails("hub", "--temporary", "--space", wrong), "--space takes ")
	}
	h := desk.hub("--listen", "127.0.0.1:0", "--space", "200MB")
	desk.flame("join")
	h.end(t, syscall.SIGKILL)
	again := desk.hub()
	assert.Equal(t, h.address, again.address, "the address of last time")
	config, err := os.ReadFile(filepath.Join(filepath.Dir(desk.store()), "nats.conf"))
	require.NoError(t, err)
	assert.Contains(t, string(config), "max_file: 209715200 ", "and the space")
	assert.Regexp(t, `the hub answers in \S+; nats-server 2\.`, desk.flame("doctor"))
	again.end(t, syscall.SIGTERM)
	assert.Regexp(t, `the disk of \S+ has \S+ GB free, and each project may use 51200.0 GB`, desk.hub("--space", "50TB").said.String())
}

func TestAHubWhoseServerDiesEnds(t *testing.T) {
	t.Parallel()
	desk := machines(t, "desk")[0]
	h := desk.hub("--listen", "127.0.0.1:0")
	pids, err := exec.Command("pgrep", "-P", strconv.Itoa(h.cmd.Process.Pid)).Output()
	if err != nil {
		t.Skip("pgrep is not installed")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(pids)))
	require.NoError(t, err)
	child, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, child.Kill())
	ctx, stop := context.WithTimeout(t.Context(), hubPatience)
	defer stop()
	select {
	case err := <-h.ended:
		require.Error(t, err)
	case <-ctx.Done():
		require.Fail(t, "it goes on")
	}
}
