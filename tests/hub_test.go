package tests

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
	first, origin := filepath.Join(base, "shop"), filepath.Join(base, "shop.git")
	for _, args := range [][]string{
		{"init", "-q", first}, {"-C", first, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "one"},
		{"clone", "-q", "--bare", first, origin},
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
	cmd := m.command(args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	require.NoError(m, err, "flame %s: %s", strings.Join(args, " "), complaint.String())
	return string(out)
}

// fails runs a command that must fail, and returns its complaint.
func (m machine) fails(args ...string) string {
	out, err := m.command(args...).CombinedOutput()
	require.Error(m, err, "flame %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// A process runs until the test ends.
type process struct {
	cmd   *exec.Cmd
	said  *heard     // on stderr
	ended chan error // receives how it ended, then is closed
}

// begin starts a process that the test ends with a signal, and returns once its stderr matches,
// with the last group of the match.
func begin(t *testing.T, cmd *exec.Cmd, by syscall.Signal, says string) (p process, found string) {
	p = process{cmd: cmd, said: &heard{}, ended: make(chan error, 1)}
	cmd.Stderr, cmd.WaitDelay = p.said, time.Second
	require.NoError(t, cmd.Start())
	go func() {
		p.ended <- cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { // it writes until it ends
		_ = cmd.Process.Signal(by) // it may have ended
		<-p.ended
	})
	pattern := regexp.MustCompile(says)
	require.Eventually(t, func() bool {
		match := pattern.FindStringSubmatch(p.said.String())
		if match != nil {
			found = match[len(match)-1]
		}
		return match != nil
	}, hubPatience, 10*time.Millisecond, "%s", p.said)
	return p, found
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

// A hubProcess is a running `flame hub`.
type hubProcess struct {
	process
	address string
}

// hub starts a hub, and returns once machines can connect.
func (m machine) hub(args ...string) hubProcess {
	return startHub(m.T, m.command(append([]string{"hub", "--temporary"}, args...)...))
}

// startHub starts a hub by its command.
func startHub(t *testing.T, cmd *exec.Cmd) hubProcess {
	p, address := begin(t, cmd, syscall.SIGTERM, `the hub listens on (\S+),`)
	return hubProcess{p, address}
}

// end ends the hub with a signal and waits until its address no longer answers.
func (h hubProcess) end(t *testing.T, by syscall.Signal) {
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
		assert.Regexp(t, `the hub answers in \S+ ms; nats-server 2\.`, said)
	}
	assert.Equal(t, 2, strings.Count(desk.flame("hub", "machines"), "\n"))
	train.flame("join", desk.invite("--expires", "1d"))

	couch.flame("leave")
	assert.Equal(t, 2, strings.Count(desk.flame("hub", "machines"), "\n"), "it gave its key back")
	assert.Contains(t, couch.flame("doctor"), "this project has joined no hub")
	name := regexp.MustCompile(`as machine (\S+)`).FindStringSubmatch(train.flame("doctor"))
	require.NotNil(t, name)
	for _, line := range []string{"leave", "join", "hub invite", "hub machines", "hub machines --remove " + name[1]} {
		answer := desk.flame(append(strings.Fields(line), "--json")...)
		assert.True(t, json.Valid([]byte(answer)), "flame %s --json: %s", line, answer)
	}
	require.Eventually(t, func() bool { return strings.Contains(train.flame("doctor"), "does not know this key") }, hubPatience, 100*time.Millisecond)
	h.end(t, syscall.SIGTERM)
	assert.Contains(t, train.flame("doctor"), "no hub answers at")
}

func TestAProjectJoinsAnExistingServer(t *testing.T) {
	t.Parallel()
	desk := machines(t, "desk")[0]
	_, address := begin(t, exec.Command(desk.server, "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", filepath.Join(desk.home, "store"), "--auth", "aSecretToken"),
		syscall.SIGKILL, `Listening for client connections on (\S+)`)
	said := desk.fails("join", "nats://aWrongToken@"+address)
	assert.Contains(t, said, "refuses this machine")
	assert.NotContains(t, said, "aWrongToken")
	assert.Contains(t, desk.flame("doctor"), "has joined no hub", "nothing is kept of what failed")
	said = desk.flame("join", "nats://aSecretToken@"+address, "--project", "shop")
	assert.Contains(t, said, "Joined project shop at nats://"+address)
	said += desk.flame("doctor")
	assert.Contains(t, said, "the hub answers in")
	assert.Contains(t, said, "flame cannot check whether that server writes data to disk before it acknowledges them")
	assert.NotContains(t, said, "aSecretToken")
	desk.flame("leave")
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
	assert.Contains(t, string(config), "sync_interval: always")
	assert.Contains(t, string(config), "max_file: 209715200 ", "and the space")
	assert.Regexp(t, `the hub answers in \S+ ms; nats-server 2\.`, desk.flame("doctor"))
	again.end(t, syscall.SIGTERM)
	last := desk.hub("--space", "50TB")
	assert.Regexp(t, `the disk of \S+ has \S+ GB free, and each project may use 55 TB`, last.said.String())
	require.NoError(t, last.server(t).Kill())
	select {
	case err := <-last.ended:
		require.Error(t, err)
	case <-time.After(hubPatience):
		require.Fail(t, "a hub goes on whose server died")
	}
}

// TestARefusedConfigurationIsReported removes the server's key, which the server reads again with
// its configuration.
func TestARefusedConfigurationIsReported(t *testing.T) {
	t.Parallel()
	desk := machines(t, "desk")[0]
	h := desk.hub("--listen", "127.0.0.1:0")
	desk.flame("join")
	key := filepath.Join(filepath.Dir(desk.store()), "key.pem")
	require.NoError(t, os.Rename(key, key+".away"))
	desk.flame("hub", "machines", "--remove", regexp.MustCompile(`as machine (\S+)`).FindStringSubmatch(desk.flame("doctor"))[1])
	says := func(want string) {
		require.Eventually(t, func() bool { return strings.Contains(h.said.String(), want) }, hubPatience, 20*time.Millisecond, want)
	}
	says("nats-server refuses the new configuration: ")
	says("those that were removed still can")
	assert.Contains(t, desk.flame("doctor"), "the hub answers in")
	require.NoError(t, os.Rename(key+".away", key))
	says("the server knows all machines again")
	require.Eventually(t, func() bool { return strings.Contains(desk.flame("doctor"), "does not know this key") }, hubPatience, 100*time.Millisecond)
	assert.Equal(t, 1, strings.Count(h.said.String(), "refuses the new configuration"), "once")
}

func TestLeavingADamagedHubReportsTheRemainingKey(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "couch")
	desk, couch := all[0], all[1]
	desk.hub("--listen", "127.0.0.1:0")
	for i, text := range []string{`{"url":"tls://host`, `{"url":"tls://host:4222","project":"shop","machine":"desk-1","seed":"SUAx"}`} {
		m := all[i]
		m.flame("join", desk.invite())
		require.NoError(t, os.WriteFile(filepath.Join(dataOf(t, m), "hub.json"), []byte(text), 0o600))
		assert.Contains(t, m.fails("join", desk.invite()), "`flame leave` removes it")
		said, err := m.command("leave").CombinedOutput()
		require.NoError(t, err, "%s", said)
		assert.Regexp(t, "hub.json cannot be used: .*key.*`flame hub machines --remove [^` ]+`, run there", string(said))
		assert.Contains(t, m.flame("doctor"), "has joined no hub")
	}
	listed := regexp.MustCompile(`(?m)^(\S+)  joined`).FindAllStringSubmatch(desk.flame("hub", "machines"), -1)
	require.Len(t, listed, 2, "the hub still knows their keys")
	for _, found := range listed {
		desk.flame("hub", "machines", "--remove", found[1])
	}
	couch.flame("join", desk.invite())
}
