package codec

import (
	"bytes"
	"mime"
	"strings"

	"github.com/tidwall/gjson"

	"flame/hosts"
)

// An Answer has the parts of a model's answer that a gateway needs.
type Answer struct {
	ID    string // of the message; may be empty
	Model string
	Usage []byte // as the answer reports it; nil if it does not
	Final []byte // the usage at the end of a streamed answer, if the API reports both
	Whole bool   // the answer is complete
	// Failed is the HTTP status of the error because of which there is no answer, or no end of it;
	// 0 without one. Malformed says that the error is about the form of the request's messages.
	Failed    int
	Malformed bool
	Window    int // tokens that the model accepts, from the error for a request with too many; 0: not known
}

// A Reader reads an answer as it passes. Only one goroutine at a time may use it.
type Reader struct {
	Answer
	First func() // called once, when the content begins

	api        *Codec
	streamed   bool
	rest       []byte // the part so far of a line, or of an answer that is not streamed
	full       bool   // that part is too long
	call       string // id of the first call
	calls      bool   // there is a call
	words      digester
	thoughts   digester // of signatures
	hasContent bool
}

// maxLine bounds a line of a stream, and an answer that is not streamed, in bytes. The reader
// ignores longer ones.
const maxLine = 16 << 20

// NewReader returns the reader for an answer with this content type, or nil if such an answer
// is not a model's.
func (d *Codec) NewReader(contentType string) *Reader {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "text/event-stream" && kind != "application/json" {
		return nil
	}
	return &Reader{api: d, streamed: kind == "text/event-stream", words: newDigester(), thoughts: newDigester()}
}

// Write reads the next part of the answer. It never fails.
func (r *Reader) Write(p []byte) (int, error) {
	size := len(p)
	for r.streamed {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		r.keep(line)
		if !ended {
			break
		}
		if !r.full {
			r.line(r.rest)
		}
		r.rest, r.full, p = r.rest[:0], false, rest
	}
	if !r.streamed {
		r.keep(p)
	}
	return size, nil
}

func (r *Reader) keep(p []byte) {
	if r.full = r.full || len(r.rest)+len(p) > maxLine; !r.full {
		r.rest = append(r.rest, p...)
	}
}

// line reads a line of a stream of events.
func (r *Reader) line(line []byte) {
	data, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r"), "data:")
	if ok && hosts.ValidJSON(data) {
		r.api.event(r, gjson.Parse(data))
	}
}

// Close reads the rest of the answer after its last part.
func (r *Reader) Close() {
	if text := string(r.rest); !r.streamed && !r.full && hosts.ValidJSON(text) {
		r.api.whole(r, gjson.Parse(text))
	}
	r.rest = nil
}

// Name returns the name that the answer will have in later histories, after a request whose
// messages had these names; empty if the answer has no content.
func (r *Reader) Name(names MessageNames) string {
	if !r.hasContent {
		return ""
	}
	return names.answer(r.calls, r.call, r.words.sum(), r.thoughts.sum())
}

// begin notes how the answer begins.
func (r *Reader) begin(answer gjson.Result, id, model, usage string) {
	r.ID, r.Model, r.Usage = strings.Clone(answer.Get(id).Str), strings.Clone(answer.Get(model).Str), usageOf(answer.Get(usage))
}

// usageOf returns a report of usage, or nil if the value is not an object.
func usageOf(usage gjson.Result) []byte {
	if !usage.IsObject() {
		return nil
	}
	return []byte(usage.Raw)
}

// fail notes an error of the API.
func (r *Reader) fail(e gjson.Result) { r.api.failures.note(r, e) }

// started notes that there is content.
func (r *Reader) started() {
	if !r.hasContent && r.First != nil {
		r.First()
	}
	r.hasContent = true
}

// add notes a part of the answer, or the beginning of one.
func (r *Reader) add(p *Part) {
	switch {
	case p.Kind == calls && !r.calls:
		r.calls, r.call = true, strings.Clone(p.ID)
	case p.Kind == words:
		r.words.add(p.Text)
	}
	r.thoughts.add(p.Signature)
}
