package messages

import (
	"bytes"
	"mime"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// An Answer has the parts of a model's answer that a gateway needs.
type Answer struct {
	ID    string // of the message; may be empty
	Model string
	Usage []byte // as the message reports it; nil if it does not
	Final []byte // the usage at the end of a streamed answer
	Whole bool   // the answer is complete
	// Failed is the API's type of the error because of which there is no answer, or no end of it.
	// Malformed says that the error is about the form of the request's messages.
	Failed    string
	Malformed bool
	Window    int // tokens that the model accepts, from the error for a request with too many; 0: not known
}

// A Reader reads an answer as it passes. Only one goroutine at a time may use it.
type Reader struct {
	Answer
	First func() // called once, when the content begins

	streamed   bool
	rest       []byte // the part so far of a line, or of a message that is not streamed
	full       bool   // that part is too long
	call       string // id of the first call
	calls      bool   // there is a call
	words      digester
	thoughts   digester // of signatures
	hasContent bool
}

// maxLine bounds a line of a stream, and a message that is not streamed, in bytes. The reader
// ignores longer ones.
const maxLine = 16 << 20

// NewReader returns the reader for an answer with this content type, or nil if such an answer
// is not a message.
func NewReader(contentType string) *Reader {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "text/event-stream" && kind != "application/json" {
		return nil
	}
	return &Reader{streamed: kind == "text/event-stream", words: newDigester(), thoughts: newDigester()}
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

// Close reads the rest of the answer after its last part.
func (r *Reader) Close() {
	if text := string(r.rest); !r.streamed && !r.full && isValid(text) {
		r.message(gjson.Parse(text))
	}
	r.rest = nil
}

// Name returns the name that the answer will have in later histories, after a request whose
// messages had these names; empty if the answer has no content.
func (r *Reader) Name(names Names) string {
	if !r.hasContent {
		return ""
	}
	return names.answer(r.calls, r.call, r.words.sum(), r.thoughts.sum())
}

// form matches the API's errors about messages, or their thinking, that do not fit together.
var form = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("thinking|signature|tool_use|tool_result|role|cache_control|non-empty|context_management")
})

// tooMany matches the API's errors about more tokens than the model accepts.
var tooMany = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:prompt is too long|exceed context limit): [0-9]+[^>]{0,20}> ([0-9]{4,9})\b`)
})

// fail notes an error of the API.
func (r *Reader) fail(e gjson.Result) {
	r.Failed = strings.Clone(e.Get("type").Str)
	if r.Failed != "invalid_request_error" {
		return
	}
	says := e.Get("message").Str
	r.Malformed = form().MatchString(says)
	if found := tooMany().FindStringSubmatch(says); found != nil {
		r.Window, _ = strconv.Atoi(found[1])
	}
}

// message reads an answer that was not streamed.
func (r *Reader) message(m gjson.Result) {
	switch m.Get("type").Str {
	case "message":
	case "error":
		r.fail(m.Get("error"))
		return
	default:
		return
	}
	r.begin(m)
	m.Get("content").ForEach(func(_, value gjson.Result) bool {
		r.started()
		b := readBlock(value)
		r.add(&b)
		return true
	})
	r.Whole = true
}

func (r *Reader) begin(m gjson.Result) {
	r.ID, r.Model, r.Usage = strings.Clone(m.Get("id").Str), strings.Clone(m.Get("model").Str), nil
	if usage := m.Get("usage"); usage.IsObject() {
		r.Usage = []byte(usage.Raw)
	}
}

func (r *Reader) started() {
	if !r.hasContent && r.First != nil {
		r.First()
	}
	r.hasContent = true
}

func (r *Reader) add(b *block) {
	switch {
	case b.kind == "tool_use":
		if !r.calls {
			r.calls, r.call = true, strings.Clone(b.id)
		}
	case b.kind == "text":
		r.words.add(b.text)
	case b.thinks():
		r.thoughts.add(b.signature)
	}
}

// line reads a line of a stream of events.
func (r *Reader) line(line []byte) {
	data, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r"), "data:")
	if !ok || !isValid(data) {
		return
	}
	event := gjson.Parse(data)
	switch event.Get("type").Str {
	case "message_start":
		r.begin(event.Get("message"))
	case "content_block_start":
		r.started()
		b := readBlock(event.Get("content_block"))
		r.add(&b)
	case "content_block_delta":
		delta := event.Get("delta")
		switch delta.Get("type").Str {
		case "text_delta":
			r.words.add(delta.Get("text").Str)
		case "signature_delta":
			r.thoughts.add(delta.Get("signature").Str)
		}
	case "message_delta":
		if usage := event.Get("usage"); usage.IsObject() {
			r.Final = []byte(usage.Raw)
		}
	case "error":
		r.fail(event.Get("error"))
	case "message_stop":
		r.Whole = true
	}
}
