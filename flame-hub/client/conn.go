// Package client connects the flames of several machines through a NATS server with JetStream.
// The server is a meeting point and may be lost: some machine has everything that it holds.
package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/hub"
)

// ServerVersion is the version of nats-server that flame is tried with. It needs 2.12 for
// batches that are written together, and 2.11 for keys that expire.
const ServerVersion = "2.15.2"

// OldestVersion is the oldest version that flame uses.
const OldestVersion = "2.12"

// SupportsVersion reports whether flame can use a server of this version.
func SupportsVersion(version string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return n == 2 && (major > 2 || major == 2 && minor >= 12)
}

// callTime bounds one request to the server.
const callTime = 5 * time.Second

// A Conn is a connection to a hub. It lasts until the network first fails.
type Conn struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	link    hub.Link
	life    context.Context // ends with the connection
	refused refusals
}

// Connect connects a machine to its hub.
func Connect(ctx context.Context, link hub.Link) (*Conn, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Conn{link: link, life: life}
	nc, err := IdentityOf(link).Dial(ctx,
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

// Link returns the link that the connection was made with.
func (c *Conn) Link() hub.Link { return c.link }

// JetStream returns the interface to streams.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Ask calls f, which sends requests to subjects that contain a text. The context of f ends after
// within, with the connection, or when the server refuses a request to such a subject. Ask returns
// the error of f in words for people.
func (c *Conn) Ask(ctx context.Context, within time.Duration, subjects string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	defer c.refused.watch(subjects, cancel)()
	return c.Told(f(ctx))
}

// Version returns the version of the server.
func (c *Conn) Version() string { return core.OneLine(c.nc.ConnectedServerVersion(), 40) }

// Latency measures how long the server takes to answer.
func (c *Conn) Latency() (time.Duration, error) { return c.nc.RTT() }

// suits returns an error that says why flame cannot use the server.
func (c *Conn) suits(ctx context.Context) (err error) {
	if !SupportsVersion(c.nc.ConnectedServerVersion()) {
		return core.Invalidf("the server at %s is nats-server %s", hub.RedactURL(c.link.URL), c.Version()).
			WithHint("flame needs %s or newer, best %s: go install github.com/nats-io/nats-server/v2@v%s", OldestVersion, ServerVersion, ServerVersion)
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(callTime)); err != nil {
		return err
	}
	err = c.Ask(ctx, callTime, "$JS.", func(ctx context.Context) error {
		_, err := RetryUntilAnswered(ctx, c.js.AccountInfo)
		return err
	})
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return core.Invalidf("the server at %s has no JetStream", hub.RedactURL(c.link.URL)).
			WithHint("start it with -js, or with a jetstream block in its configuration; `flame hub` does so")
	}
	return err
}

// Told returns an error of the server in words for people. The server does not answer a
// request that it refuses, so the refusal stands in place of the timeout.
func (c *Conn) Told(err error) error {
	var problem *core.Problem
	if err == nil || errors.As(err, &problem) {
		return err
	}
	var api *jetstream.APIError
	if refused := c.refused.latest(); !errors.As(err, &api) && refused != "" {
		return core.Invalidf("the hub refused: %s", core.OneLine(refused, 300)).
			WithHint("this machine has no permission for that in project %s; ask the person who runs the hub", c.link.Project)
	}
	if isCode(err, errCodeFull) {
		return core.Unavailablef(err, "project %s has no room left on the hub: %s", c.link.Project, core.OneLine(api.Description, 300)).
			WithHint("the person who runs the hub can give each project more: `flame hub --space SIZE`; on another server it is the account's limit")
	}
	if errors.As(err, &api) && api.Code == 503 {
		return core.Unavailablef(err, "the hub cannot do that now: %s", core.OneLine(api.Description, 300)).
			WithHint("is its disk full, or the space that its server may use? `flame hub` says so in its log")
	}
	if errors.Is(err, nats.ErrMaxPayload) {
		return core.Invalidf("a message is larger than the hub's server accepts, %d KB", c.nc.MaxPayload()>>10).
			WithHint("shorten it, or raise max_payload of the server; `flame hub` sets 8MB")
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

// Stream returns a stream of the hub, and makes it if it does not exist. An existing stream
// is used as it is: the owner of the server may have chosen its copies and limits. A cluster
// keeps three copies, if it has three servers.
func (c *Conn) Stream(ctx context.Context, config jetstream.StreamConfig) (s jetstream.Stream, err error) {
	err = c.Ask(ctx, streamTime, "$JS.", func(ctx context.Context) error {
		if s, err = c.stream(ctx, config.Name); !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
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
		return err
	})
	return s, err
}

// streamTime bounds finding or making a stream.
const streamTime = 2*insistTime + 2*callTime

func (c *Conn) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return RetryUntilAnswered(ctx, func(ctx context.Context) (jetstream.Stream, error) { return c.js.Stream(ctx, name) })
}

// Insist asks every insistence for at most insistTime, and returns the first answer.
const (
	insistence = time.Second
	insistTime = 7 * time.Second
)

// RetryUntilAnswered calls f every second until one of the calls is answered. A cluster never answers a
// request that arrived while it had no leader, but it answers the same request a moment later;
// a slow server still answers the first.
func RetryUntilAnswered[T any](ctx context.Context, f func(ctx context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	ctx, stop := context.WithTimeout(ctx, insistTime)
	defer stop()
	answers := make(chan answer, 1)
	again := time.NewTicker(insistence)
	defer again.Stop()
	for {
		go func() {
			value, err := f(ctx)
			select {
			case answers <- answer{value, err}:
			default: // an earlier one is there
			}
		}()
		select {
		case a := <-answers:
			return a.value, a.err
		case <-again.C:
		}
	}
}

// clusterCopies is how many copies a cluster keeps: enough to lose one server.
const clusterCopies = 3

// The errors of a server that cannot keep so many copies.
const (
	errCodeNoPeers   jetstream.ErrorCode = 10005 // its cluster has too few servers
	errCodeOneServer jetstream.ErrorCode = 10074 // it is in no cluster
)

// errCodeFull is the error for an account that has used up its space.
const errCodeFull jetstream.ErrorCode = 10002

// isCode reports whether an error of the server has one of the codes.
func isCode(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

// refusedTime is how long a refusal explains a request that was not answered.
const refusedTime = time.Minute

// refusals are the latest refusals of a server. The server reports a refusal on the
// connection and does not answer the request, which would wait until its timeout.
type refusals struct {
	mu      sync.Mutex
	text    string
	at      time.Time
	waiting map[*waiter]bool
}

// A waiter waits for the answer to a message to one of these subjects.
type waiter struct {
	subjects string
	stop     context.CancelFunc
}

// add notes a refusal, and ends the waits for the refused message.
func (r *refusals) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text, r.at = text, time.Now()
	for w := range r.waiting {
		if strings.Contains(text, w.subjects) {
			w.stop()
		}
	}
}

// latest returns the last refusal of the past minute, or "".
func (r *refusals) latest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) > refusedTime {
		return ""
	}
	return r.text
}

// watch calls stop when the server refuses a message to a subject that contains a text. The
// function that it returns ends the watch.
func (r *refusals) watch(subjects string, stop context.CancelFunc) (end func()) {
	w := &waiter{subjects, stop}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[*waiter]bool{}
	}
	r.waiting[w] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, w)
	}
}

// A Bucket is a key-value bucket of the project.
type Bucket struct {
	jetstream.KeyValue
	Stream jetstream.Stream // that it is kept in

	conn    *Conn
	subject string // of a key, which is appended
}

// Bucket returns a bucket of the project, and makes it if it does not exist.
func (c *Conn) Bucket(ctx context.Context, name string, change func(*jetstream.StreamConfig)) (*Bucket, error) {
	full := "flame_" + c.link.Project + "_" + name
	b := &Bucket{conn: c, subject: "$KV." + full + "."}
	config := jetstream.StreamConfig{ // what makes a stream a bucket
		Name: "KV_" + full, Subjects: []string{b.subject + ">"}, MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1,
		Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, Compression: jetstream.S2Compression,
		AllowRollup: true, DenyDelete: true, AllowDirect: true,
	}
	change(&config)
	s, err := c.Stream(ctx, config)
	if err != nil {
		return nil, err
	}
	if b.Stream = s; config.AllowMsgTTL && !s.CachedInfo().Config.AllowMsgTTL {
		return nil, StreamConfigError(config.Name, "does not allow keys to expire")
	}
	b.KeyValue, err = RetryUntilAnswered(ctx, func(ctx context.Context) (jetstream.KeyValue, error) { return c.js.KeyValue(ctx, full) })
	return b, c.Told(err)
}

// StreamConfigError returns the error for a stream with a configuration that flame cannot use.
func StreamConfigError(stream, what string) error {
	return core.Invalidf("the stream %s of the hub %s", stream, what).WithHint("delete it on the server; flame creates it again")
}

// Replace replaces the value with revision last (0: the key has no value) and returns the new
// revision. The value expires after lasts, in whole seconds (0: never); the client's own update
// of a key would drop that limit. If the key has another revision by then, IsMismatch reports
// true for the error.
func (b *Bucket) Replace(ctx context.Context, key string, value []byte, last uint64, lasts time.Duration) (revision uint64, err error) {
	options := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(last)}
	if lasts > 0 {
		options = append(options, jetstream.WithMsgTTL(lasts))
	}
	err = b.conn.Ask(ctx, callTime, b.subject, func(ctx context.Context) error {
		ack, err := b.conn.js.PublishMsg(ctx, b.message(key, value), options...)
		if err == nil {
			revision = ack.Sequence
		}
		return err
	})
	return revision, err
}

func (b *Bucket) message(key string, value []byte) *nats.Msg {
	return &nats.Msg{Subject: b.subject + key, Data: value, Header: nats.Header{}}
}

// Last returns the value of a key, nil if it was deleted, and its revision, 0 if the key
// never existed.
func (b *Bucket) Last(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	var m *jetstream.RawStreamMsg
	err = b.conn.Ask(ctx, callTime, "$JS.", func(ctx context.Context) (err error) {
		m, err = b.Stream.GetLastMsgForSubject(ctx, b.subject+key)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case m.Header.Get("KV-Operation") != "" || m.Header.Get(jetstream.MarkerReasonHeader) != "":
		return nil, m.Sequence, nil
	case m.Data == nil:
		return []byte{}, m.Sequence, nil
	}
	return m.Data, m.Sequence, nil
}

// IsMismatch reports whether a write failed because the value that it replaces has changed.
func IsMismatch(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
