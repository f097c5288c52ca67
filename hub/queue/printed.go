package queue

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
)

// What workers print is told in pieces, and kept for watching alone: the oldest make room for
// new ones, in bytes.
const (
	MaxPiece = 64 << 10
	keepLogs = 2 << 30
)

// offsetHeader says where in the output a piece begins, in bytes.
const offsetHeader = "Flame-Offset"

// logs returns the stream of what workers print, which is made when the first does.
func (q *Queue) logs(ctx context.Context) (jetstream.Stream, error) {
	return q.conn.Stream(ctx, jetstream.StreamConfig{
		Name: "FLAME_" + q.conn.Link().Project + "_LOGS", Subjects: []string{q.log(">")}, Storage: jetstream.FileStorage,
		Compression: jetstream.S2Compression, MaxAge: keepJobs, MaxBytes: keepLogs, Discard: jetstream.DiscardOld, AllowDirect: true,
	})
}

func (q *Queue) log(what string) string { return "flame." + q.conn.Link().Project + ".log." + what }

// logOf returns the subject of what an attempt of a job prints.
func (q *Queue) logOf(id string, attempt int) string {
	return q.log(fmt.Sprintf("%s.%d", id, attempt))
}

// Print tells a piece of what an attempt of a job prints, of at most MaxPiece bytes, and where
// it begins.
func (q *Queue) Print(ctx context.Context, id string, attempt int, offset int64, piece []byte) error {
	if len(piece) > MaxPiece {
		return core.Invalidf("a piece of output has %d bytes, and the hub takes %d", len(piece), MaxPiece)
	}
	if err := checkID(id); err != nil {
		return err
	}
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	if !q.prints.Load() {
		if _, err := q.logs(ctx); err != nil {
			return err
		}
		q.prints.Store(true)
	}
	m := &nats.Msg{Subject: q.logOf(id, attempt), Data: piece, Header: nats.Header{}}
	m.Header.Set(offsetHeader, strconv.FormatInt(offset, 10))
	_, err := q.conn.JetStream().PublishMsg(ctx, m)
	return q.conn.Told(err)
}

// Printed calls see with what an attempt of a job printed and prints, piece by piece, until
// ctx ends or the connection is gone. Anybody may have written it: pieces may be missing,
// come twice, or be another's.
func (q *Queue) Printed(ctx context.Context, id string, attempt int, see func(offset int64, piece []byte)) error {
	if err := checkID(id); err != nil {
		return err
	}
	call, stop := q.conn.Call(ctx, callTime)
	defer stop()
	logs, err := q.logs(call)
	if err != nil {
		return err
	}
	c, err := logs.OrderedConsumer(call, jetstream.OrderedConsumerConfig{FilterSubjects: []string{q.logOf(id, attempt)}})
	if err != nil {
		return q.conn.Told(err)
	}
	pieces := make(chan jetstream.Msg)
	consuming, err := c.Consume(func(m jetstream.Msg) {
		select {
		case pieces <- m:
		case <-ctx.Done():
		case <-q.conn.Gone():
		}
	}, jetstream.PullMaxMessages(16))
	if err != nil {
		return q.conn.Told(err)
	}
	defer consuming.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-q.conn.Gone():
			return q.gone()
		case m := <-pieces:
			offset, err := strconv.ParseInt(m.Headers().Get(offsetHeader), 10, 64)
			if err == nil && offset >= 0 && len(m.Data()) <= MaxPiece {
				see(offset, m.Data())
			}
		}
	}
}
