package client

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"flame/hub"
)

// patience is how long a test waits for what must happen, on however busy a machine.
const patience = 40 * time.Second

// A hubServer is a NATS server in this process. It can be stopped and started again at the
// same address.
type hubServer struct {
	t       *testing.T
	options server.Options
	running *server.Server
}

// startHub starts a server; change may change its options.
func startHub(t *testing.T, change ...func(*server.Options)) *hubServer {
	h := &hubServer{t: t, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, MaxPayload: 8 << 20,
	}}
	for _, f := range change {
		f(&h.options)
	}
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *hubServer) start() {
	options := h.options
	s, err := server.NewServer(&options)
	require.NoError(h.t, err)
	s.Start()
	require.True(h.t, s.ReadyForConnections(patience), "the server is not ready")
	h.running, h.options.Port = s, s.Addr().(*net.TCPAddr).Port
}

func (h *hubServer) stop() {
	h.running.Shutdown()
	h.running.WaitForShutdown()
}

// link returns that of a machine without a key.
func (h *hubServer) link(machine string) hub.Link {
	return hub.Link{URL: fmt.Sprintf("nats://127.0.0.1:%d", h.options.Port), Project: "shop", Machine: machine}
}

// connect connects a machine.
func (h *hubServer) connect(machine string) *Conn {
	c, err := Connect(h.ctx(), h.link(machine))
	require.NoError(h.t, err)
	h.t.Cleanup(c.Close)
	return c
}

// ctx returns a context that ends with the test, or long after it should have.
func (h *hubServer) ctx() context.Context {
	ctx, stop := context.WithTimeout(context.Background(), 3*patience)
	h.t.Cleanup(stop)
	return ctx
}
