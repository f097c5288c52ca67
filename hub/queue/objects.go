package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/hub"
)

// openObjects returns the store of files and its stream, and makes it if it does not exist.
func (q *Queue) openObjects(ctx context.Context) (o jetstream.ObjectStore, s jetstream.Stream, err error) {
	name := "flame_" + q.conn.Link().Project + "_files"
	s, err = q.conn.Stream(ctx, jetstream.StreamConfig{
		Name: "OBJ_" + name, Subjects: []string{"$O." + name + ".C.>", "$O." + name + ".M.>"}, MaxAge: keepJobs, MaxBytes: -1,
		Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, AllowRollup: true, AllowDirect: true,
	})
	if err != nil {
		return nil, nil, err
	}
	o, err = hub.Insist(ctx, func(ctx context.Context) (jetstream.ObjectStore, error) {
		return q.conn.JetStream().ObjectStore(ctx, name)
	})
	return o, s, q.conn.Told(err)
}

// PutObject stores the content of r on the hub for a week, under a name. It replaces an earlier
// file with that name.
func (q *Queue) PutObject(ctx context.Context, name string, r io.Reader) error {
	if err := checkName("name of a file on the hub", name, maxID); err != nil {
		return err
	}
	return q.conn.Ask(ctx, objectTime, "", func(ctx context.Context) error {
		_, err := q.objects.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
		return err
	})
}

// Object writes a file of the hub to w. The error is core.ErrNotFound if there is no such
// file, and core.ErrInvalid if it has more than most bytes or is damaged. After an error, w may
// have received a part of the file.
func (q *Queue) Object(ctx context.Context, name string, w io.Writer, most int64) error {
	if err := checkName("name of a file on the hub", name, maxID); err != nil {
		return err
	}
	return q.conn.Ask(ctx, objectTime, "", func(ctx context.Context) error { return q.object(ctx, name, w, most) })
}

func (q *Queue) object(ctx context.Context, name string, w io.Writer, most int64) error {
	info, err := q.objects.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return core.NotFoundf("the hub has no file %s", name)
	}
	if err != nil {
		return err
	}
	if info.Opts != nil && info.Opts.Link != nil {
		return core.Invalidf("the file %s on the hub is a link, which flame does not make", name)
	}
	tooLarge := core.Invalidf("the file %s on the hub has more than %d bytes", name, most)
	if info.Size > uint64(most) {
		return tooLarge
	}
	object, err := q.objects.Get(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = object.Close() }()
	n, err := io.Copy(w, io.LimitReader(object, most+1))
	switch {
	case errors.Is(err, jetstream.ErrDigestMismatch):
		return core.Invalidf("the file %s on the hub is damaged", name)
	case err != nil:
		return err
	case n > most:
		return tooLarge
	case uint64(n) != info.Size:
		return core.Invalidf("the file %s on the hub is damaged: %d of %d bytes came", name, n, info.Size)
	}
	return nil
}

// Limits of the output of workers in bytes: of one piece, and of all pieces. The hub keeps output
// only for people who watch it, and drops the oldest pieces first.
const (
	MaxPiece = 64 << 10
	keepLogs = 2 << 30
)

// offsetHeader is the header with the offset of a piece in the output, in bytes.
const offsetHeader = "Flame-Offset"

// logs returns the stream for output, and makes it if it does not exist.
func (q *Queue) logs(ctx context.Context) (jetstream.Stream, error) {
	return q.conn.Stream(ctx, jetstream.StreamConfig{
		Name: "FLAME_" + q.conn.Link().Project + "_LOGS", Subjects: []string{q.log(">")}, Storage: jetstream.FileStorage,
		Compression: jetstream.S2Compression, MaxAge: keepJobs, MaxBytes: keepLogs, Discard: jetstream.DiscardOld, AllowDirect: true,
	})
}

func (q *Queue) log(what string) string { return "flame." + q.conn.Link().Project + ".log." + what }

// logOf returns the subject for the output of an attempt of a job.
func (q *Queue) logOf(id string, attempt int) string {
	return q.log(fmt.Sprintf("%s.%d", id, attempt))
}

// Print sends a piece of the output of an attempt of a job, of at most MaxPiece bytes, and its
// offset.
func (q *Queue) Print(ctx context.Context, id string, attempt int, offset int64, piece []byte) error {
	if len(piece) > MaxPiece {
		return core.Invalidf("a piece of output has %d bytes, and the hub accepts %d", len(piece), MaxPiece)
	}
	if err := checkID(id); err != nil {
		return err
	}
	m := &nats.Msg{Subject: q.logOf(id, attempt), Data: piece, Header: nats.Header{}}
	m.Header.Set(offsetHeader, strconv.FormatInt(offset, 10))
	return q.ask(ctx, func(ctx context.Context) error {
		if !q.prints.Load() {
			if _, err := q.logs(ctx); err != nil {
				return err
			}
			q.prints.Store(true)
		}
		_, err := q.conn.JetStream().PublishMsg(ctx, m)
		return err
	})
}

// Printed calls see with each piece of the output of an attempt of a job, from the beginning,
// until ctx ends or the connection is gone. Any machine may have written the pieces: they may be
// missing, repeated or forged.
func (q *Queue) Printed(ctx context.Context, id string, attempt int, see func(offset int64, piece []byte)) error {
	if err := checkID(id); err != nil {
		return err
	}
	var c jetstream.Consumer
	err := q.ask(ctx, func(ctx context.Context) error {
		logs, err := q.logs(ctx)
		if err == nil {
			c, err = logs.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{q.logOf(id, attempt)}})
		}
		return err
	})
	if err != nil {
		return err
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
			return hub.ErrGone
		case m := <-pieces:
			offset, err := strconv.ParseInt(m.Headers().Get(offsetHeader), 10, 64)
			if err == nil && offset >= 0 && len(m.Data()) <= MaxPiece {
				see(offset, m.Data())
			}
		}
	}
}
