package queue

import (
	"context"
	"errors"
	"io"

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
	o, err = hub.RetryUntilAnswered(ctx, func(ctx context.Context) (jetstream.ObjectStore, error) {
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
