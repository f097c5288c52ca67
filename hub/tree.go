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
	subject string // of a key, which is appended
	batches bool   // several values can be written together
}

func (c *Conn) tree(ctx context.Context) (*tree, error) {
	kv, config, err := c.bucket(ctx, "tree", func(s *jetstream.StreamConfig) { s.AllowAtomicPublish = true })
	if err != nil {
		return nil, err
	}
	return &tree{conn: c, kv: kv, subject: "$KV." + kv.Bucket() + ".", batches: config.AllowAtomicPublish}, nil
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

// encode returns the value of a document.
func encode(d merge.Doc) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil || len(text) <= zipAbove {
		return text, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	return b.Bytes(), z.Close()
}

// decode reads a value that anybody may have written.
func decode(value []byte, now core.Millis) (merge.Doc, error) {
	if bytes.HasPrefix(value, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(value))
		if err != nil {
			return merge.Doc{}, core.Invalidf("it is not a document of a frame: %v", err)
		}
		if value, err = io.ReadAll(io.LimitReader(z, maxDoc+1)); err != nil || len(value) > maxDoc {
			return merge.Doc{}, core.Invalidf("it is not a document of a frame, or larger than %d bytes", maxDoc)
		}
	}
	return merge.Parse(value, now)
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
	ack, err := t.conn.js.PublishMsg(ctx, t.message(o), jetstream.WithExpectLastSequencePerSubject(o.last))
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return 0, errChanged
	}
	if err != nil {
		return 0, t.conn.told(err)
	}
	return ack.Sequence, nil
}

func (t *tree) message(o outgoing) *nats.Msg {
	return &nats.Msg{Subject: t.subject + keyOf(o.doc.ID), Data: o.value, Header: nats.Header{}}
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
		ctx, stop := context.WithTimeout(ctx, 6*callTime) // it is on the disk by then
		defer stop()
		answer, err := t.conn.nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			return 0, t.conn.told(err)
		}
		return firstOf(answer.Data, len(batch))
	}
	return 0, nil
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
	case ack.Error != nil && ack.Error.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		return 0, errChanged
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Count != size || ack.Sequence < uint64(size):
		return 0, fmt.Errorf("the hub wrote %d of %d documents", ack.Count, size)
	}
	return ack.Sequence - uint64(size) + 1, nil
}
