package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/flame-hub/client"
	"flame/hub"
)

var planned = regexp.MustCompile(`plan-[a-z0-9]{8}`)

var machineName = regexp.MustCompile(`as machine \S+`)

// serve runs `flame serve` on the machine as a host does, until the test ends.
func (m machine) serve() {
	keepOpen(m.T, m.command("serve"))
}

// keepOpen starts a command that ends with its stdin, and leaves that open until the test ends.
func keepOpen(t *testing.T, cmd *exec.Cmd) {
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // with any status
	})
}

// doctor returns the output of `flame doctor`, which fails because the host is a fake.
func (m machine) doctor() string {
	said, err := m.command("doctor").CombinedOutput()
	var failed *exec.ExitError
	if err != nil {
		require.ErrorAs(m, err, &failed)
	}
	return string(said)
}

// shows waits until a command's answer has each of the texts.
func (m machine) shows(command string, texts ...string) {
	for _, text := range texts {
		said := ""
		for until := time.Now().Add(hubPatience); ; time.Sleep(100 * time.Millisecond) {
			if command == "doctor" {
				said = m.doctor()
			} else {
				said = m.flame(strings.Fields(command)...)
			}
			if strings.Contains(said, text) {
				break
			}
			if time.Now().After(until) {
				require.Contains(m, said, text, "%s\n%s", m.home, m.doctor())
			}
		}
	}
}

// TestMachinesHaveOneTree tests the promise of docs/machines.md: after three commands, two
// machines show the frames of both, and a hub that lost its data is filled again.
func TestMachinesHaveOneTree(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "couch")
	desk, couch := all[0], all[1]
	h := desk.hub("--listen", "127.0.0.1:0")
	desk.flame("push", "Before it joined")
	desk.flame("join")
	couch.flame("join", desk.invite())
	desk.serve()
	couch.serve()
	couch.shows("tree", "Before it joined")
	desk.flame("push", "Mend the login")
	began := time.Now()
	couch.shows("tree", "Mend the login")
	t.Logf("seen after %v", time.Since(began))
	couch.flame("push", "Paint the door")
	desk.shows("tree", "Paint the door")
	desk.flame("pop", "completed", "It is mended now")
	couch.shows("status", "Paint the door")
	couch.shows("doctor", "connected in the last minutes: ")

	taken := planned.FindString(desk.flame("plan", "Taken over")) // no session works in it
	couch.shows("tree", "Taken over")
	couch.flame("activate", taken)
	desk.shows("show "+taken, "\nMachine: ")

	h.end(t, syscall.SIGTERM)
	away := frameID.FindString(desk.flame("push", "While the hub was away"))
	assert.Contains(t, desk.fails("activate", taken), "not connected to the hub now")
	require.NoError(t, os.RemoveAll(filepath.Join(desk.home, ".local", "share", "flame-hub", "jetstream")))
	desk.hub()
	couch.shows("tree", "While the hub was away")
	assert.Contains(t, couch.flame("tree"), "Before it joined")
	was := machineName.FindString(couch.flame("doctor"))
	require.NotEmpty(t, was)
	couch.flame("leave")
	assert.Contains(t, couch.flame("tree"), "Mend the login", "what came stays")
	couch.flame("activate", away) // without a hub that could refuse
	couch.flame("join", desk.invite())
	assert.Equal(t, was, machineName.FindString(couch.flame("doctor")), "it is the machine that it was")
	desk.shows("show "+away, "\nMachine: ")
	couch.flame("leave")
	couch.flame("join", desk.invite(), "--new-id")
	assert.NotEqual(t, was, machineName.FindString(couch.flame("doctor")))
}

// connect connects to the hub as the machine does.
func (m machine) connect() *client.Conn {
	link, err := hub.Load(dataOf(m.T, m))
	require.NoError(m, err)
	conn, err := client.Connect(m.Context(), link)
	require.NoError(m, err)
	m.Cleanup(conn.Close)
	return conn
}

// server returns the process of the hub's server.
func (h hubProcess) server(t *testing.T) *os.Process {
	t.Helper()
	pids, err := exec.Command("pgrep", "-P", strconv.Itoa(h.cmd.Process.Pid)).Output()
	if err != nil {
		t.Skip("pgrep is not installed")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(pids)))
	require.NoError(t, err)
	process, err := os.FindProcess(pid)
	require.NoError(t, err)
	return process
}

// store returns the folder of the data of the machine's hub.
func (m machine) store() string {
	return filepath.Join(m.home, ".local", "share", "flame-hub", "jetstream")
}
