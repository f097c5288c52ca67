package queue

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hub"
	"flame/tests/effort"
)

// serverEnv has the test binary be a server of a cluster: a clusterServer.
const serverEnv = "FLAME_QUEUE_TEST_SERVER"

// A clusterServer is one of several that keep what any one of them has.
type clusterServer struct {
	Name, Dir, Routes string
	Port, Cluster     int

	cmd *exec.Cmd
}

// serveUntilKilled prints a line when it leads the cluster.
func serveUntilKilled(text string) {
	var c clusterServer
	must(0, json.Unmarshal([]byte(text), &c))
	s := must(server.NewServer(&server.Options{
		ServerName: c.Name, Host: "127.0.0.1", Port: c.Port, JetStream: true, StoreDir: c.Dir, NoLog: true, NoSigs: true,
		Cluster: server.ClusterOpts{Name: "flame", Host: "127.0.0.1", Port: c.Cluster}, Routes: server.RoutesFromStr(c.Routes),
	}))
	s.Start()
	for led := false; ; time.Sleep(20 * time.Millisecond) {
		if leads := s.JetStreamIsLeader(); leads != led {
			led = leads
			fmt.Println("leads", leads)
		}
	}
}

func (c clusterServer) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", c.Port) }

func (r *rig) clusterServers() (all []*clusterServer) {
	r.Helper()
	var routes []string
	var ports []int
	for range 6 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(r, err)
		defer l.Close() // all at once, lest one is given twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for i := range 3 {
		all = append(all, &clusterServer{Name: fmt.Sprintf("n%d", i), Dir: r.TempDir(), Port: ports[i], Cluster: ports[3+i]})
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i]))
	}
	for _, c := range all {
		c.Routes = strings.Join(routes, ",")
	}
	return all
}

// cluster starts three servers, and returns the one that leads and the others.
func (r *rig) cluster() (leads *clusterServer, others []*clusterServer) {
	r.Helper()
	all := r.clusterServers()
	led := make(chan *clusterServer, len(all))
	for _, c := range all {
		text, err := json.Marshal(c)
		require.NoError(r, err)
		c.cmd = exec.Command(os.Args[0])
		c.cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
		out, err := c.cmd.StdoutPipe()
		require.NoError(r, err)
		require.NoError(r, c.cmd.Start())
		r.Cleanup(c.kill)
		go func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if lines.Text() == "leads true" {
					led <- c
				}
			}
		}()
	}
	select {
	case leads = <-led:
	case <-time.After(patience):
		require.Fail(r, "no server leads")
	}
	for _, c := range all {
		if c != leads {
			others = append(others, c)
		}
	}
	return leads, others
}

func (c *clusterServer) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// queueAt returns the queue of a machine by servers.
func (r *rig) queueAt(machine string, at ...*clusterServer) (*Queue, error) {
	var urls []string
	for _, c := range at {
		urls = append(urls, c.url())
	}
	conn, err := hub.Connect(r.ctx(), hub.Link{URL: strings.Join(urls, ","), Project: "shop", Machine: machine})
	if err != nil {
		return nil, err
	}
	r.Cleanup(conn.Close)
	q, err := Open(r.ctx(), conn)
	if err == nil {
		q.Heartbeat, q.AckWait = r.heartbeat, r.wait
	}
	return q, err
}

// repeated calls f until it succeeds: what has just got another leader refuses calls for a moment.
func (r *rig) repeated(f func() error) {
	r.Helper()
	require.Eventually(r, func() bool { return f() == nil }, patience, 100*time.Millisecond)
}

// leadElsewhere has another server than this lead what a queue is kept in.
func (r *rig) leadElsewhere(q *Queue, than string) {
	r.Helper()
	for _, part := range q.parts {
		require.Eventually(r, func() bool {
			info, err := part.Info(r.ctx())
			if err != nil || info.Cluster.Leader == "" {
				return false
			}
			if info.Cluster.Leader == than {
				_, _ = q.conn.JetStream().Conn().Request("$JS.API.STREAM.LEADER.STEPDOWN."+info.Config.Name, nil, time.Second)
			}
			return info.Cluster.Leader != than
		}, patience, 100*time.Millisecond)
	}
}

// The server is killed that a worker is connected to, and that leads the cluster. Until another
// does, nobody who connects is answered, though who is connected learns all of the job.
func TestAWorkerIsNotLostWithItsServer(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	r := &rig{T: t, heartbeat: 500 * time.Millisecond, wait: AckWait}
	leads, others := r.cluster()
	var asker *Queue
	r.repeated(func() (err error) { asker, err = r.queueAt("desk", others[0]); return err })
	r.leadElsewhere(asker, leads.Name)
	r.repeated(func() error { return asker.Put(r.ctx(), Job{ID: "job-1", Queue: "gpu"}) })
	var worker *Queue
	var lease Lease
	r.repeated(func() (err error) { worker, err = r.queueAt("box", leads); return err })
	r.repeated(func() (err error) { lease, _, err = worker.Next(r.ctx(), "gpu"); return err })
	r.repeated(func() error { _, err := worker.Beat(r.ctx(), &lease, nil); return err })
	runs, done := r.follow(asker, "job-1")
	r.becomes(runs, Running)

	leads.kill()
	ctx, stop := context.WithCancel(r.ctx())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			q, err := r.queueAt("box", leads, others[0], others[1])
			if err == nil && q.End(ctx, &lease, nil) == nil {
				return
			}
			time.Sleep(r.heartbeat)
		}
	}()
	run := r.becomes(runs, Ended)
	assert.Empty(t, run.Reason)
	assert.NoError(t, r.ends(done))
}
