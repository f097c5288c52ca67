package tests

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/flame-hub/client"
	"flame/hub"
)

// A cluster is three servers with copies of the same data.
type cluster struct {
	*testing.T
	args    map[string][]string // of each server, by its name
	running map[string]*exec.Cmd
	url     string
}

// cluster starts three servers. It returns at once: one of them will lead.
func (m machine) cluster() *cluster {
	c := &cluster{T: m.T, args: map[string][]string{}, running: map[string]*exec.Cmd{}}
	var ports []int
	for range 6 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(m, err)
		defer l.Close() // all at once, lest one is given twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	var routes, urls []string
	for i := range 3 {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i]))
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	c.url = strings.Join(urls, ",")
	for i := range 3 {
		name := fmt.Sprintf("n%d", i)
		c.args[name] = []string{
			"-n", name, "-a", "127.0.0.1", "-p", fmt.Sprint(ports[i]), "-js", "-sd", filepath.Join(m.home, name),
			"--cluster_name", "flame", "--cluster", routes[i], "--routes", strings.Join(routes, ","),
		}
	}
	for name := range c.args {
		c.start(m.server, name)
	}
	m.Cleanup(func() {
		for name := range c.running {
			c.kill(name)
		}
	})
	return c
}

func (c *cluster) start(server, name string) {
	cmd := exec.Command(server, c.args[name]...)
	require.NoError(c, cmd.Start())
	c.running[name] = cmd
}

func (c *cluster) kill(name string) {
	_ = c.running[name].Process.Kill()
	_ = c.running[name].Wait()
	delete(c.running, name)
}

// stream returns the cluster's state of a stream of the machine's project, once it has a leader.
func (m machine) stream(name string) (info *jetstream.StreamInfo) {
	require.Eventually(m, func() bool {
		s, err := m.connect().JetStream().Stream(m.Context(), name)
		if err == nil {
			info = s.CachedInfo()
		}
		return err == nil && info.Cluster != nil && info.Cluster.Leader != ""
	}, hubPatience, 100*time.Millisecond)
	return info
}

// TestAClusterLosesItsLeader kills each server once, so every leader dies once, while the tree
// changes and an agent runs.
func TestAClusterLosesItsLeader(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "box")
	desk, box := all[0].withClaude(), all[1].withClaude()
	c := desk.cluster()
	for _, m := range []machine{desk, box} {
		require.Eventually(t, func() bool { return m.command("join", c.url, "--project", "shop").Run() == nil }, hubPatience, 200*time.Millisecond)
		m.serve()
		m.reaches("nothing")
	}
	box.worker()
	desk.flame("push", "Before")
	box.shows("tree", "Before")
	id := desk.away("WAIT for me")
	desk.until(id, talks)
	for _, stream := range []string{
		"KV_flame_shop_tree", "KV_flame_shop_claims", "KV_flame_shop_machines", "KV_flame_shop_runs", "KV_flame_shop_orders", "FLAME_shop_JOBS",
		"OBJ_flame_shop_files",
	} {
		assert.Equal(t, 3, desk.stream(stream).Config.Replicas, stream)
	}
	for _, server := range slices.Sorted(maps.Keys(c.args)) {
		c.kill(server)
		for i := range 5 {
			desk.flame("push", fmt.Sprintf("desk %s %d", server, i))
			box.flame("push", fmt.Sprintf("box %s %d", server, i))
		}
		box.shows("tree", "desk "+server+" 4")
		desk.shows("tree", "box "+server+" 4")
		c.start(desk.server, server)
	}
	box.goesOn()
	run := desk.until(id, ended)
	assert.Equal(t, core.AgentCompleted, run.State, "%+v", run.Outcome)
	assert.Equal(t, "all done", run.Outcome.Text)
	assert.Equal(t, 1, strings.Count(box.flame("agents", "runs"), "completed"))
	desk.shows("tree", "✓ WAIT for me")
	for _, m := range []machine{desk, box} {
		tree := m.flame("tree")
		assert.Equal(t, []int{15, 15}, []int{strings.Count(tree, "desk n"), strings.Count(tree, "box n")}, tree)
	}
}

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
