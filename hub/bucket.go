package hub

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
)

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
