package tests

import (
	"fmt"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
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
