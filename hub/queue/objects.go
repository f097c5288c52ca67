package queue

import (
	"context"
	"errors"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"flame/core"
	"flame/hub"
)

// openObjects makes or uses the store of files, which is a stream.
func (q *Queue) openObjects(ctx context.Context) (o jetstream.ObjectStore, s jetstream.Stream, err error) {
	name := "flame_" + q.conn.Link().Project + "_files"
	s, err = q.conn.Stream(ctx, jetstream.StreamConfig{
		Name: "OBJ_" + name, Subjects: []string{"$O." + name + ".C.>", "$O." + name + ".M.>"}, MaxAge: keepJobs, MaxBytes: -1,
		Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, AllowRollup: true, AllowDirect: true,
	})
	if err != nil {
		return nil, nil, err
	}
	err = hub.Insist(ctx, func(ctx context.Context) error { o, err = q.conn.JetStream().ObjectStore(ctx, name); return err })
	return o, s, q.conn.Told(err)
}

// checkObject returns the advice for a name that cannot be a file's.
func checkObject(name string) error {
	if !isName(name, maxID) {
		return core.Invalidf("%q cannot be the name of a file on the hub", core.OneLine(name, maxID)).
			WithHint("names are letters, digits, - and _, at most %d of them", maxID)
	}
	return nil
}

// PutObject keeps on the hub what r has, under a name, for a week. It replaces what had that
// name.
func (q *Queue) PutObject(ctx context.Context, name string, r io.Reader) error {
	if err := checkObject(name); err != nil {
		return err
	}
	ctx, stop := q.conn.Call(ctx, objectTime)
	defer stop()
	_, err := q.objects.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
	return q.conn.Told(err)
}

// Object writes what the hub has under a name to w. The error is core.ErrNotFound if it has
// nothing, and core.ErrInvalid if that has more than most bytes or is damaged; w may have
// got a part then.
func (q *Queue) Object(ctx context.Context, name string, w io.Writer, most int64) error {
	if err := checkObject(name); err != nil {
		return err
	}
	ctx, stop := q.conn.Call(ctx, objectTime)
	defer stop()
	info, err := q.objects.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return core.NotFoundf("the hub has no file %s", name)
	}
	if err != nil {
		return q.conn.Told(err)
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
		return q.conn.Told(err)
	}
	defer func() { _ = object.Close() }()
	n, err := io.Copy(w, io.LimitReader(object, most+1))
	switch {
	case errors.Is(err, jetstream.ErrDigestMismatch):
		return core.Invalidf("the file %s on the hub is damaged", name)
	case err != nil:
		return q.conn.Told(err)
	case n > most:
		return tooLarge
	case uint64(n) != info.Size:
		return core.Invalidf("the file %s on the hub is damaged: %d of %d bytes came", name, n, info.Size)
	}
	return nil
}

// DropObject removes what the hub has under a name. That there is nothing is no error.
func (q *Queue) DropObject(ctx context.Context, name string) error {
	if err := checkObject(name); err != nil {
		return err
	}
	ctx, stop := q.conn.Call(ctx, callTime)
	defer stop()
	err := q.objects.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return q.conn.Told(err)
}
