package client

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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
)

// A tree is where a hub keeps the documents of frames: a bucket with a key for each.
type tree struct {
	*Bucket
	batches bool // several values can be written together
	limit   int  // greatest size of a value in bytes
}

func (c *Conn) tree(ctx context.Context) (*tree, error) {
	b, err := c.Bucket(ctx, "tree", func(s *jetstream.StreamConfig) { s.AllowAtomicPublish = true })
	if err != nil {
		return nil, err
	}
	config, limit := b.Stream.CachedInfo().Config, int(c.nc.MaxPayload())
	if config.MaxMsgSize > 0 {
		limit = min(limit, int(config.MaxMsgSize))
	}
	return &tree{Bucket: b, batches: config.AllowAtomicPublish, limit: max(limit-headerRoom, limit/2)}, nil
}

// keyOf returns the key of a frame. Imported frames have ids of any form.
func keyOf(id string) string {
	if hub.IsName(id, len(id)) {
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

// A cutDoc is a document without its results, which are too large.
type cutDoc struct {
	merge.Doc
	Cut bool `json:"cut"`
}

// fit returns the value of a document, without its results if they are too large.
func (t *tree) fit(d merge.Doc) (value []byte, cut bool, err error) {
	if value, err = encode(d); err != nil || len(value) <= t.limit {
		return value, false, err
	}
	size := len(value)
	d.Work.Results = ""
	if value, err = encode(cutDoc{d, true}); err == nil && len(value) > t.limit {
		err = core.Invalidf("%s has %d bytes, and the hub accepts %d", d.ID, size, t.limit)
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

// claimsToBe reports whether a refused text has the form of a document of the frame with
// this key: another machine may accept it, as when this machine's clock is wrong. If this
// machine replaced it, the two would overwrite each other forever.
func claimsToBe(text []byte, key string) bool {
	var d merge.Doc
	return json.Unmarshal(text, &d) == nil && d.V == merge.Version && d.ID != "" && keyOf(d.ID) == key
}

// An outgoing document, and what it replaces.
type outgoing struct {
	doc   merge.Doc
	value []byte
	last  uint64 // revision of the value that it replaces; 0: none
}

// putEach writes documents one by one, without waiting for each, and passes each outcome to
// done.
func (t *tree) putEach(ctx context.Context, all []outgoing, done func(o outgoing, revision uint64, err error)) {
	_ = t.conn.Ask(ctx, batchTime, t.subject, func(ctx context.Context) error {
		futures := make([]jetstream.PubAckFuture, len(all))
		errs := make([]error, len(all))
		for i, o := range all {
			futures[i], errs[i] = t.conn.js.PublishMsgAsync(t.message(keyOf(o.doc.ID), o.value),
				jetstream.WithExpectLastSequencePerSubject(o.last), jetstream.WithStallWait(callTime))
		}
		for i, o := range all {
			revision, err := uint64(0), errs[i]
			if err == nil {
				revision, err = outcome(ctx, futures[i])
			}
			done(o, revision, t.conn.Told(err))
		}
		return nil // done has all errors
	})
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

// batchTime bounds the writing of many documents to disk.
const batchTime = 6 * callTime

// codeUnfinished is the error code for a batch with a refused message.
const codeUnfinished = 10176

// isUnfinished reports whether a batch was not written, or not all of it, and the server
// does not say why.
func isUnfinished(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, errUnanswered) || errors.As(err, &api) && api.ErrorCode == codeUnfinished
}

// Limits of a batch. The server takes 1,000 messages.
const (
	maxBatch      = 500
	maxBatchBytes = 4 << 20
)

// batchesOf splits documents into batches.
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
// first; the others have the following ones. If a document has changed meanwhile, it writes none,
// and IsMismatch reports true for the error.
func (t *tree) putTogether(ctx context.Context, batch []outgoing) (first uint64, err error) {
	id := nuid.Next()
	for i, o := range batch {
		m := t.message(keyOf(o.doc.ID), o.value)
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

// errUnanswered says that the server did not report the outcome of a batch. This happens if its
// space runs out in the middle: the server then has a part of the batch.
var errUnanswered = errors.New("the hub did not say what became of a batch")

// commitTime bounds the wait for that answer.
const commitTime = callTime

// commit sends the last message of a batch and returns the answer.
func (t *tree) commit(ctx context.Context, last *nats.Msg) (answer []byte, err error) {
	err = t.conn.Ask(ctx, commitTime, t.subject, func(ctx context.Context) error {
		m, err := t.conn.nc.RequestMsgWithContext(ctx, last)
		if err == nil {
			answer = m.Data
		}
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && t.conn.life.Err() == nil {
		return nil, errUnanswered
	}
	return answer, err
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
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Count != size || ack.Sequence < uint64(size):
		return 0, fmt.Errorf("the hub wrote %d of %d documents", ack.Count, size)
	}
	return ack.Sequence - uint64(size) + 1, nil
}
