package client

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/hub"
	"flame/local/lock"
)

// newKey returns a new nkey.
func newKey(t *testing.T) (seed, public string) {
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	text, err := pair.Seed()
	require.NoError(t, err)
	public, err = pair.PublicKey()
	require.NoError(t, err)
	return string(text), public
}

// certificate returns one that nobody signed.
func certificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	is := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	raw, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// answers listens as a server that only says this does, and returns its URL.
func answers(t *testing.T, text string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				fmt.Fprint(conn, text)
				for lines := bufio.NewScanner(conn); strings.HasPrefix(text, "INFO {") && lines.Scan(); {
					if lines.Text() == "PING" {
						fmt.Fprint(conn, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://me:aSecret@" + l.Addr().String()
}

func TestErrorsOfConnectingToAHub(t *testing.T) {
	t.Parallel()
	seed, public := newKey(t)
	otherSeed, _ := newKey(t)
	cert := certificate(t)
	secure := startHub(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: public}}
		o.TLSConfig, o.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, 5
	})
	token := startHub(t, func(o *server.Options) { o.Authorization = "a-secret-token" })
	without := startHub(t, func(o *server.Options) { o.JetStream = false })
	gone := startHub(t)
	gone.stop()
	right := secure.link("laptop")
	right.Seed, right.Pin = seed, Fingerprint(cert.Certificate[0])
	for name, tt := range map[string]struct {
		link hub.Link
		kind error
		says string
	}{
		"another key":         {link: hub.Link{Seed: otherSeed, Pin: right.Pin, URL: right.URL}, kind: core.ErrInvalid, says: "does not know this key"},
		"another certificate": {link: hub.Link{Seed: seed, Pin: Fingerprint([]byte("x")), URL: right.URL}, kind: core.ErrInvalid, says: "another server"},
		"a damaged key":       {link: hub.Link{Seed: "SUABC", Pin: right.Pin, URL: right.URL}, kind: core.ErrInvalid, says: "is not an nkey"},
		"no token":            {link: token.link("laptop"), kind: core.ErrInvalid, says: "refuses this machine"},
		"no server":           {link: gone.link("laptop"), kind: core.ErrUnavailable, says: "no hub answers"},
		"no JetStream":        {link: without.link("laptop"), kind: core.ErrInvalid, says: "has no JetStream"},
		"an old server": {
			link: hub.Link{URL: answers(t, `INFO {"server_id":"x","version":"2.9.0","headers":true,"jetstream":true,"max_payload":1048576}`+"\r\n")},
			kind: core.ErrInvalid, says: "is nats-server 2.9.0",
		},
		"an unknown server": {
			link: hub.Link{URL: answers(t, `INFO {"server_id":"x","version":"\u001b[2Jnew","max_payload":1048576}`+"\r\n")},
			kind: core.ErrInvalid, says: "is nats-server [2Jnew",
		},
		"another protocol":   {link: hub.Link{URL: answers(t, "HTTP/1.1 400 Bad Request\r\n\r\n")}, kind: core.ErrUnavailable, says: "cannot be used"},
		"a line without end": {link: hub.Link{URL: answers(t, "INFO "+strings.Repeat("x", 1<<16))}, kind: core.ErrUnavailable, says: "cannot be used"},
		"no answer":          {link: hub.Link{URL: answers(t, "")}, kind: core.ErrUnavailable, says: "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.link.Project, tt.link.Machine = "shop", "laptop"
			_, err := Connect(secure.ctx(), tt.link)
			require.ErrorIs(t, err, tt.kind)
			assert.Contains(t, err.Error(), tt.says)
			if strings.Contains(tt.says, "is nats-server") {
				assert.Contains(t, core.HintOf(err), "flame needs 2.12 or newer")
			}
			assert.NotRegexp(t, "(?i)secret|\x1b", err.Error())
		})
	}
	c, err := Connect(secure.ctx(), right)
	require.NoError(t, err)
	c.Close()
}

// restricted starts a server on which a machine may publish to what is listed only.
func restricted(t *testing.T, publish ...string) (h *hubServer, link hub.Link) {
	seed, public := newKey(t)
	h = startHub(t, func(o *server.Options) {
		o.Nkeys = []*server.NkeyUser{{Nkey: public, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: []string{InboxOf("laptop") + ".>"}},
		}}}
		o.Users = []*server.User{{Username: "admin", Password: "x"}}
	})
	link = h.link("laptop")
	link.Seed = seed
	return h, link
}

func TestARefusedWriteIsReportedAsRefused(t *testing.T) {
	t.Parallel()
	h, link := restricted(t, "$JS.API.>") // it may read, but not write
	m := h.mate("laptop")
	m.decide("frame-1", "one")
	began := time.Now()
	h.runAs(m, link)
	require.Eventually(t, func() bool { return m.sync.Progress().Waiting > 0 }, patience, 20*time.Millisecond)
	t.Log("told after", time.Since(began))
	p := m.sync.Progress()
	require.ErrorIs(t, p.Fault, core.ErrInvalid)
	assert.Contains(t, p.Fault.Error(), "$KV.flame_shop_tree.frame-1")

	admin := h.link("admin")
	admin.URL = "nats://admin:x@" + admin.URL[len("nats://"):]
	other := h.mate("admin")
	other.decide("frame-2", "two")
	h.runAs(other, admin)
	require.Eventually(t, func() bool { return len(m.all()) == 2 }, patience, 20*time.Millisecond, "documents of other machines still arrive")
}

func TestAMachineWithoutPermissionsIsRefused(t *testing.T) {
	t.Parallel()
	_, link := restricted(t, "nothing")
	_, err := Connect(t.Context(), link)
	require.ErrorIs(t, err, core.ErrInvalid)
	assert.Contains(t, err.Error(), "the hub refused")
}

// fulls are servers with little room, by what is said once there is no more.
var fulls = map[string]func(*testing.T) *hubServer{
	"cannot do that now": func(t *testing.T) *hubServer {
		return startHub(t, func(o *server.Options) { o.JetStreamMaxStore = 256 << 10 })
	},
	"project shop has no room left": func(t *testing.T) *hubServer {
		h := startHub(t)
		h.limit(256 << 10)
		return h
	},
}

// limit has a project store at most so many bytes.
func (h *hubServer) limit(bytes int64) {
	require.NoError(h.t, h.running.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{
		"": {MaxStore: bytes, MaxMemory: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1},
	}))
}

func TestAFullHubIsReported(t *testing.T) {
	t.Parallel()
	for says, full := range fulls {
		t.Run(says, func(t *testing.T) { t.Parallel(); fillOneByOne(t, full(t), says) })
		t.Run(says+", in a batch", func(t *testing.T) { t.Parallel(); fillWithABatch(t, full(t), says) })
	}
}

func fillOneByOne(t *testing.T, h *hubServer, says string) {
	m, other := h.run(h.mate("laptop")), h.run(h.mate("desk"))
	m.decide("frame-small", "one")
	alike(t, 1, m, other)
	results := noise(t, 225<<10)
	count := 1
	for ; m.sync.Progress().Waiting == 0; count++ { // one by one, until there is no room
		sent := m.sync.Progress().Sent
		m.write(fmt.Sprint("frame-", count), func(f *core.Frame) { f.Results = results })
		require.Eventually(t, func() bool {
			p := m.sync.Progress()
			return p.Sent > sent || p.Waiting > 0
		}, patience, 5*time.Millisecond)
	}
	p := m.sync.Progress()
	require.ErrorIs(t, p.Fault, core.ErrUnavailable)
	assert.Contains(t, p.Fault.Error(), says)
	assert.True(t, p.Complete)
	select {
	case err := <-m.done:
		assert.Fail(t, "it goes on", "%v", err)
	default:
	}
	if h.options.JetStreamMaxStore == 0 { // the account's limit, which can be raised
		h.limit(1 << 30)
		alike(t, count, m, other)
	}
}

// The server does not answer a batch in the middle of which its space ends; it keeps a part.
func fillWithABatch(t *testing.T, h *hubServer, says string) {
	m := h.mate("laptop")
	results := noise(t, 225<<10)
	for i := range 7 {
		m.write(fmt.Sprint("frame-", i), func(f *core.Frame) { f.Results = results })
	}
	h.run(m)
	require.Eventually(t, func() bool { return m.sync.Progress().Waiting > 0 }, patience, 5*time.Millisecond)
	p := m.sync.Progress()
	require.ErrorIs(t, p.Fault, core.ErrUnavailable)
	assert.Contains(t, p.Fault.Error(), says)
	assert.NotContains(t, p.Fault.Error(), "does not answer")
}

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

// A kept project is one with a data folder.
type kept struct {
	*memory
	data string
	held []string
	stop func()
}

// station returns a project that is not kept yet.
func station(t *testing.T, machine string) *kept {
	return &kept{memory: newMemory(machine), data: t.TempDir()}
}

// keep keeps the project connected, from one of perhaps several processes.
func (k *kept) keep(h *hubServer) *kept {
	ctx, stop := context.WithCancel(h.ctx())
	ended := make(chan struct{})
	k.stop = func() { stop(); <-ended }
	h.t.Cleanup(k.stop)
	go func() {
		defer close(ended)
		hub.KeepJoined(ctx, k.data, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
			return Keep(ctx, Config{
				Data: k.data, Tree: func(string) Tree { return k.memory }, Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
				Held: func(context.Context) ([]string, error) { return k.held, nil },
				Now:  func() core.Millis { return core.MillisOf(time.Now()) },
			})
		})
	}()
	return k
}

// await waits until the status of a project is as want says.
func (k *kept) await(t *testing.T, want func(hub.Status) bool) (s hub.Status) {
	require.Eventually(t, func() bool {
		var err error
		s, err = hub.LoadStatus(k.data)
		return err == nil && want(s)
	}, patience, 20*time.Millisecond)
	return s
}

func connected(s hub.Status) bool { return s.Since > 0 && s.Complete }

func TestAProjectIsKeptConnected(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a, b := station(t, "laptop"), station(t, "desk")
	a.held = []string{"frame-1"}
	a.decide("frame-1", "one")
	a.keep(h)
	assert.NoFileExists(t, filepath.Join(a.data, "hub.lock"), "without a hub flame makes no lock")
	for _, k := range []*kept{a, b} {
		require.NoError(t, hub.Save(k.data, h.link(k.clock.Machine)))
	}
	s := a.await(t, connected)
	b.keep(h) // now, as who is there is looked at seldom
	assert.Equal(t, os.Getpid(), s.PID)
	assert.Equal(t, ServerVersion, s.Server)
	assert.Empty(t, s.Error)
	assert.True(t, s.IsFresh(core.MillisOf(time.Now())))
	require.Eventually(t, func() bool { return len(b.all()) == 1 }, patience, 20*time.Millisecond)
	b.await(t, func(s hub.Status) bool { return len(s.Machines) == 2 })
	require.ErrorContains(t, h.claims("desk", claimTime).Claim(h.ctx(), "frame-1"), "on machine laptop")

	h.stop()
	a.await(t, func(s hub.Status) bool { return s.Since == 0 && s.Error != "" && s.Hint != "" })
	a.decide("frame-2", "while the hub is away")
	h.start()
	a.await(t, connected)
	require.Eventually(t, func() bool { return len(b.all()) == 2 }, patience, 20*time.Millisecond)

	require.NoError(t, hub.Remove(a.data))
	require.Eventually(t, func() bool {
		_, err := hub.LoadStatus(a.data)
		return os.IsNotExist(err)
	}, patience, 20*time.Millisecond, "it has left")
	require.NoError(t, h.claims("desk", claimTime).Claim(h.ctx(), "frame-1"), "and released its claims")
}

func TestOneProcessKeepsAProject(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	a := station(t, "laptop")
	require.NoError(t, hub.Save(a.data, h.link("laptop")))
	a.keep(h)
	first := a.await(t, connected)
	second := (&kept{memory: newMemory("laptop"), data: a.data}).keep(h)
	now, stop := context.WithCancel(h.ctx())
	stop()
	_, err := hub.Lock(now, a.data)
	require.ErrorIs(t, err, lock.ErrBusy, "the first process has it")
	a.stop()
	s := second.await(t, func(s hub.Status) bool { return connected(s) && s.Since != first.Since })
	assert.Greater(t, s.Since, first.Since)
}
