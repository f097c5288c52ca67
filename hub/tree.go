package hub

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"flame/core"
	"flame/core/merge"
)

// A tree is where a hub keeps the documents of frames: a bucket with a key for each.
type tree struct {
	conn    *Conn
	kv      jetstream.KeyValue
	stream  jetstream.Stream
	subject string // of a key, which is appended
	batches bool   // several values can be written together
	limit   int    // greatest size of a value in bytes
}

func (c *Conn) tree(ctx context.Context) (*tree, error) {
	kv, stream, err := c.Bucket(ctx, "tree", func(s *jetstream.StreamConfig) { s.AllowAtomicPublish = true })
	if err != nil {
		return nil, err
	}
	config, limit := stream.CachedInfo().Config, int(c.nc.MaxPayload())
	if config.MaxMsgSize > 0 {
		limit = min(limit, int(config.MaxMsgSize))
	}
	return &tree{
		conn: c, kv: kv, stream: stream, subject: "$KV." + kv.Bucket() + ".", batches: config.AllowAtomicPublish, limit: max(limit-headerRoom, limit/2),
	}, nil
}

// keyChars are those that a key of a bucket may have, but for "=", which begins the keys of
// ids with others, and ".", which has a meaning at either end and when it is doubled.
const keyChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// keyOf returns the key of a frame. Imported frames have ids of any form.
func keyOf(id string) string {
	if id != "" && strings.Trim(id, keyChars) == "" {
		return id
	}
	return "=" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// The sizes of values in bytes: larger ones than zipAbove are compressed, and what a value
// holds is at most maxDoc, however small it comes.
const (
	zipAbove = 64 << 10
	maxDoc   = 32 << 20
)

// headerRoom is what is left of a message for its headers and subject.
const headerRoom = 16 << 10

// A cutDoc is a document without its results, for which there is no room.
type cutDoc struct {
	merge.Doc
	Cut bool `json:"cut"`
}

// fit returns the value of a document, without its results if there is no room for them.
func (t *tree) fit(d merge.Doc) (value []byte, cut bool, err error) {
	if value, err = encode(d); err != nil || len(value) <= t.limit {
		return value, false, err
	}
	size := len(value)
	d.Work.Results = ""
	if value, err = encode(cutDoc{d, true}); err == nil && len(value) > t.limit {
		err = core.Invalidf("%s has %d bytes, and the hub takes %d", d.ID, size, t.limit)
	}
	return value, true, err
}

// encode returns the value of a document.
func encode(d any) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil || len(text) <= zipAbove {
		return text, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	err = z.Close() // which writes the rest
	return b.Bytes(), err
}

// unzip returns the text of a value that anybody may have written.
func unzip(value []byte) ([]byte, error) {
	if !bytes.HasPrefix(value, []byte{0x1f, 0x8b}) {
		return value, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(value))
	if err != nil {
		return nil, core.Invalidf("it is not a document of a frame: %v", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxDoc+1))
	if err != nil || len(text) > maxDoc {
		return nil, core.Invalidf("it is not a document of a frame, or larger than %d bytes", maxDoc)
	}
	return text, nil
}

// claimsToBe reports whether a text that was refused has the form of a document of the
// frame with this key: another machine may take it for one, as where this one's clock is
// wrong. If this machine replaced it, the two would write it by turns for ever.
func claimsToBe(text []byte, key string) bool {
	var d merge.Doc
	return json.Unmarshal(text, &d) == nil && d.V == merge.Version && d.ID != "" && keyOf(d.ID) == key
}

// An outgoing document, and what it replaces.
type outgoing struct {
	doc   merge.Doc
	value []byte
	last  uint64 // revision of the value that it replaces; 0: there is none
}

// errChanged says that another machine wrote the same frame meanwhile.
var errChanged = errors.New("it changed meanwhile")

// put writes one document and returns its revision. If what it replaces changed meanwhile,
// the error is errChanged.
func (t *tree) put(ctx context.Context, o outgoing) (uint64, error) {
	ctx, stop := t.conn.refused.watch(ctx, t.subject)
	defer stop()
	ack, err := t.conn.js.PublishMsg(ctx, t.message(o), jetstream.WithExpectLastSequencePerSubject(o.last))
	switch {
	case IsMismatch(err):
		return 0, errChanged
	case err != nil:
		return 0, t.conn.Told(err)
	}
	return ack.Sequence, nil
}

// putEach writes documents one by one, without waiting for each, and passes what became of
// them to done.
func (t *tree) putEach(ctx context.Context, all []outgoing, done func(o outgoing, revision uint64, err error)) {
	ctx, stop := t.conn.refused.watch(ctx, t.subject)
	defer stop()
	futures := make([]jetstream.PubAckFuture, len(all))
	errs := make([]error, len(all))
	for i, o := range all {
		futures[i], errs[i] = t.conn.js.PublishMsgAsync(t.message(o),
			jetstream.WithExpectLastSequencePerSubject(o.last), jetstream.WithStallWait(callTime))
	}
	ctx, stopWaiting := context.WithTimeout(ctx, batchTime)
	defer stopWaiting()
	for i, o := range all {
		revision, err := uint64(0), errs[i]
		if err == nil {
			revision, err = outcome(ctx, futures[i])
		}
		switch {
		case IsMismatch(err):
			err = errChanged
		case err != nil:
			err = t.conn.Told(err)
		}
		done(o, revision, err)
	}
}

// outcome waits for the answer to a message.
func outcome(ctx context.Context, future jetstream.PubAckFuture) (revision uint64, err error) {
	select {
	case ack := <-future.Ok():
		return ack.Sequence, nil
	case err := <-future.Err():
		return 0, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (t *tree) message(o outgoing) *nats.Msg {
	return &nats.Msg{Subject: t.subject + keyOf(o.doc.ID), Data: o.value, Header: nats.Header{}}
}

// batchTime bounds the writing of many documents: they are on the disk by then.
const batchTime = 6 * callTime

// codeUnfinished is that of the error for a batch of which a message was refused.
const codeUnfinished = 10176

// isUnfinished reports whether a batch was not written, or not all of it, and the server
// does not say why.
func isUnfinished(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, errUnanswered) || errors.As(err, &api) && api.ErrorCode == codeUnfinished
}

// Limits of what is written together. The server takes 1,000 messages.
const (
	maxBatch      = 500
	maxBatchBytes = 4 << 20
)

// batchesOf splits documents into what is written together.
func batchesOf(all []outgoing) (batches [][]outgoing) {
	size := 0
	for _, o := range all {
		last := len(batches) - 1
		if size += len(o.value); last < 0 || len(batches[last]) >= maxBatch || size > maxBatchBytes {
			batches, size = append(batches, nil), len(o.value)
			last++
		}
		batches[last] = append(batches[last], o)
	}
	return batches
}

// putTogether writes documents all or none (ADR-50 of NATS) and returns the revision of the
// first; the others have those that follow. Where one of them changed meanwhile, none is
// written, and the error is errChanged.
func (t *tree) putTogether(ctx context.Context, batch []outgoing) (first uint64, err error) {
	id := nuid.Next()
	for i, o := range batch {
		m := t.message(o)
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(o.last, 10))
		if i < len(batch)-1 {
			if err := t.conn.nc.PublishMsg(m); err != nil {
				return 0, err
			}
			continue
		}
		m.Header.Set("Nats-Batch-Commit", "1")
		answer, err := t.commit(ctx, m)
		if err != nil {
			return 0, err
		}
		return firstOf(answer, len(batch))
	}
	return 0, nil
}

// errUnanswered says that the server was done with a batch and did not answer: so it is if
// its space ends in the middle of one, of which it then has a part.
var errUnanswered = errors.New("the hub did not say what became of a batch")

// commit sends the last message of a batch and returns the answer. A message follows that
// the server refuses, after the batch, with an answer of its own.
func (t *tree) commit(ctx context.Context, last *nats.Msg) (answer []byte, err error) {
	ctx, stop := context.WithTimeout(ctx, batchTime)
	defer stop()
	ctx, stopWatching := t.conn.refused.watch(ctx, t.subject)
	defer stopWatching()
	inbox := t.conn.nc.NewInbox()
	answers, err := t.conn.nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }() // with the connection lost, it has ended
	last.Reply = inbox + ".batch"
	after := &nats.Msg{Subject: last.Subject, Reply: inbox + ".after", Header: nats.Header{}}
	after.Header.Set("Nats-Batch-Id", nuid.Next())
	after.Header.Set("Nats-Batch-Sequence", "2") // of a batch without a first
	for _, m := range []*nats.Msg{last, after} {
		if err := t.conn.nc.PublishMsg(m); err != nil {
			return nil, err
		}
	}
	for {
		m, err := answers.NextMsgWithContext(ctx)
		switch {
		case err != nil && errors.Is(context.Cause(ctx), errUnanswered):
			return nil, errUnanswered
		case err == nil && m.Header.Get("Status") == "503":
			return nil, t.conn.Told(nats.ErrNoResponders)
		case err != nil:
			return nil, t.conn.Told(err)
		case m.Subject == last.Reply:
			return m.Data, nil
		}
		var stopWaiting context.CancelFunc // servers of a cluster agree first
		ctx, stopWaiting = context.WithTimeoutCause(ctx, t.conn.lag(), errUnanswered)
		defer stopWaiting()
	}
}

// firstOf reads the answer to a batch.
func firstOf(answer []byte, size int) (uint64, error) {
	var ack struct {
		Error    *jetstream.APIError `json:"error"`
		Sequence uint64              `json:"seq"`
		Count    int                 `json:"count"`
	}
	if err := json.Unmarshal(answer, &ack); err != nil {
		return 0, fmt.Errorf("the hub's answer cannot be read: %w", err)
	}
	switch {
	case ack.Error != nil && IsMismatch(ack.Error):
		return 0, errChanged
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Count != size || ack.Sequence < uint64(size):
		return 0, fmt.Errorf("the hub wrote %d of %d documents", ack.Count, size)
	}
	return ack.Sequence - uint64(size) + 1, nil
}

// last returns the value of a key and its revision; nil if it was deleted, and 0 if it was
// never there.
func (t *tree) last(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	m, err := t.stream.GetLastMsgForSubject(ctx, t.subject+key)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, t.conn.Told(err)
	case m.Header.Get("KV-Operation") != "" || m.Header.Get(jetstream.MarkerReasonHeader) != "":
		return nil, m.Sequence, nil
	case m.Data == nil:
		return []byte{}, m.Sequence, nil
	}
	return m.Data, m.Sequence, nil
}
