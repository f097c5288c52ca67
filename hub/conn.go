package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
)

// ServerVersion is the version of nats-server that flame is tried with. It needs 2.12 for
// batches that are written together, and 2.11 for keys that expire.
const ServerVersion = "2.15.2"

const oldestMinor = 12 // of 2.x

// callTime bounds one request to the server.
const callTime = 5 * time.Second

// A Conn is a connection to a hub. It lasts until the first fault of the network.
type Conn struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	link    Link
	life    context.Context // ends with the connection
	refused refusals
}

// Connect connects a machine to its hub.
func Connect(ctx context.Context, link Link) (*Conn, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Conn{link: link, life: life}
	nc, err := link.Identity().Dial(ctx,
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				c.refused.add(err.Error())
			}
		}),
		nats.ClosedHandler(func(*nats.Conn) { end() }))
	if err != nil {
		end()
		return nil, err
	}
	c.nc = nc
	if err := c.suits(ctx); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() { c.nc.Close() }

// Gone is closed when the connection has ended.
func (c *Conn) Gone() <-chan struct{} { return c.life.Done() }

// Link returns what the connection was made by.
func (c *Conn) Link() Link { return c.link }

// JetStream returns what streams are used by.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Call returns a context for requests to the server that are to end within so long. It ends
// with the connection too, and when the server refuses what is asked of it.
func (c *Conn) Call(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, within)
	ctx, forget := c.refused.watch(ctx, "")
	unbind := context.AfterFunc(c.life, cancel)
	return ctx, func() { unbind(); forget(); cancel() }
}

// Version returns the version of the server.
func (c *Conn) Version() string { return core.OneLine(c.nc.ConnectedServerVersion(), 40) }

// Latency measures how long the server takes to answer.
func (c *Conn) Latency() (time.Duration, error) { return c.nc.RTT() }

// lag returns how much later than others the answer to what was written may come: servers
// of a cluster agree on it first.
func (c *Conn) lag() time.Duration {
	if c.nc.ConnectedClusterName() == "" {
		return 0
	}
	return callTime
}

// suits reports what keeps flame from using the server.
func (c *Conn) suits(ctx context.Context) (err error) {
	var major, minor int
	if n, _ := fmt.Sscanf(c.nc.ConnectedServerVersion(), "%d.%d", &major, &minor); n < 2 || major < 2 || major == 2 && minor < oldestMinor {
		return core.Invalidf("the server at %s is nats-server %s", Shown(c.link.URL), c.Version()).
			WithHint("flame needs 2.%d or newer, best %s: go install github.com/nats-io/nats-server/v2@v%s", oldestMinor, ServerVersion, ServerVersion)
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(callTime)); err != nil {
		return err
	}
	ctx, stop := c.refused.watch(ctx, "$JS.")
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err = Insist(ctx, func(ctx context.Context) error { _, err := c.js.AccountInfo(ctx); return err })
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return core.Invalidf("the server at %s has no JetStream", Shown(c.link.URL)).
			WithHint("start it with -js, or with a jetstream block in its configuration; `flame hub` does so")
	case err != nil:
		return c.Told(err)
	}
	return nil
}

// Told returns an error of the server's as people should read it. A request that was
// refused looks like one that was never answered.
func (c *Conn) Told(err error) error {
	if err == nil {
		return nil
	}
	var api *jetstream.APIError
	if refused := c.refused.latest(); !errors.As(err, &api) && refused != "" {
		return core.Invalidf("the hub refused: %s", core.OneLine(refused, 300)).
			WithHint("this machine may not do that in project %s; ask whoever runs the hub", c.link.Project)
	}
	if isCode(err, errCodeFull) {
		return core.Unavailablef(err, "project %s has no room left on the hub: %s", c.link.Project, core.OneLine(api.Description, 300)).
			WithHint("whoever runs the hub can give each project more: `flame hub --space SIZE`; on another server it is the account's limit")
	}
	if errors.As(err, &api) && api.Code == 503 {
		return core.Unavailablef(err, "the hub cannot do that now: %s", core.OneLine(api.Description, 300)).
			WithHint("is its disk full, or the space that its server may use? `flame hub` says so in its log")
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return core.Invalidf("what is sent to the hub is larger than its server takes, %d KB", c.nc.MaxPayload()>>10).
			WithHint("make it shorter, or have max_payload of the server raised; `flame hub` sets 8MB")
	}
	if c.life.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) {
		return core.Unavailablef(err, "the connection to the hub was lost: %v", err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders) { // a cluster without a leader
		return core.Unavailablef(err, "the hub does not answer: %v", err)
	}
	return err
}

// Stream returns a stream of the hub, which is made if it is not there. One that is there
// is used as it is: who runs the server may have chosen copies and limits for it. A cluster
// keeps three copies of it, if it has so many servers.
func (c *Conn) Stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, stop := c.refused.watch(ctx, "$JS.")
	defer stop()
	s, err := c.stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if config.Replicas = 1; c.nc.ConnectedClusterName() != "" {
			config.Replicas = clusterCopies
		}
		s, err = c.js.CreateStream(ctx, config)
		if config.Replicas > 1 && isCode(err, errCodeNoPeers, errCodeOneServer) {
			config.Replicas = 1
			s, err = c.js.CreateStream(ctx, config)
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another machine was faster
			s, err = c.stream(ctx, config.Name)
		}
	}
	return s, c.Told(err)
}

func (c *Conn) stream(ctx context.Context, name string) (s jetstream.Stream, err error) {
	err = Insist(ctx, func(ctx context.Context) error { s, err = c.js.Stream(ctx, name); return err })
	return s, err
}

// insistence is how long Insist waits for each answer.
var insistence = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Insist calls f again if there is no answer, with more time. What a cluster was asked while
// the server that leads was gone is never answered, though the same asked a moment later
// would be.
func Insist(ctx context.Context, f func(ctx context.Context) error) (err error) {
	for _, wait := range insistence {
		try, stop := context.WithTimeout(ctx, wait)
		err = f(try)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// clusterCopies is how many copies a cluster keeps: one server may be gone, and no more are
// of use.
const clusterCopies = 3

// What a server says that cannot keep so many copies.
const (
	errCodeNoPeers   jetstream.ErrorCode = 10005 // its cluster has too few servers
	errCodeOneServer jetstream.ErrorCode = 10074 // it is in no cluster
)

// errCodeFull is what a server says when an account has all that it may have.
const errCodeFull jetstream.ErrorCode = 10002

// isCode reports whether an error of the server's has one of the codes.
func isCode(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

// Bucket returns a key-value bucket of the project, which is made if it is not there, and the
// stream that it is.
func (c *Conn) Bucket(ctx context.Context, name string, change func(*jetstream.StreamConfig)) (jetstream.KeyValue, jetstream.Stream, error) {
	full := "flame_" + c.link.Project + "_" + name
	config := jetstream.StreamConfig{ // what makes a stream a bucket
		Name: "KV_" + full, Subjects: []string{"$KV." + full + ".>"}, MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1,
		Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, Compression: jetstream.S2Compression,
		AllowRollup: true, DenyDelete: true, AllowDirect: true,
	}
	change(&config)
	s, err := c.Stream(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	var kv jetstream.KeyValue
	err = Insist(ctx, func(ctx context.Context) error { kv, err = c.js.KeyValue(ctx, full); return err })
	return kv, s, c.Told(err)
}
