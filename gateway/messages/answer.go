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

// An Answer is what a gateway must know of a model's answer.
type Answer struct {
	ID    string // of the message; empty if there is none
	Model string
	Usage []byte // as the message has it; nil without one
	Final []byte // the usage at the end, where it was streamed
	Whole bool   // it is at its end
	// Failed is why there is no answer, or no end of it, as the API names it: the type of an
	// error. Malformed says that it is about the form of the request's messages.
	Failed    string
	Malformed bool
	Window    int // tokens that the model takes, as a refusal of too many says; 0: none does
}

// A Reader reads an answer as it passes. It is not for several goroutines at once.
type Reader struct {
	Answer
	First func() // called once, with the first of the content

	streamed   bool
	rest       []byte // what came of a line, or of a message that is not streamed
	full       bool   // too much came of it
	call       string // id of the first
	calls      bool
	words      digester
	thoughts   digester // of signatures
	hasContent bool
}

// maxLine limits a line of a stream, and a message that is not streamed, in bytes: of what
// is longer nothing is known.
const maxLine = 16 << 20

// NewReader returns the reader of an answer of this type of content, or nil for one that
// is no message.
func NewReader(contentType string) *Reader {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "text/event-stream" && kind != "application/json" {
		return nil
	}
	return &Reader{streamed: kind == "text/event-stream", words: newDigester(), thoughts: newDigester()}
}

// Write takes what has come; it never fails.
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

// Close ends the answer: nothing more comes.
func (r *Reader) Close() {
	if text := string(r.rest); !r.streamed && !r.full && isValid(text) {
		r.message(gjson.Parse(text))
	}
	r.rest = nil
}

// Name returns the name that the answer will have in the histories to come, behind a request
// whose messages had these; empty if it has no content.
func (r *Reader) Name(names Names) string {
	if !r.hasContent {
		return ""
	}
	return names.answer(r.calls, r.call, r.words.sum(), r.thoughts.sum())
}

// form matches what the API says of messages that do not fit each other, or their thinking.
var form = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("thinking|signature|tool_use|tool_result|role|cache_control|non-empty|context_management")
})

// tooMany matches what the API says of more tokens than the model takes.
var tooMany = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:prompt is too long|exceed context limit): [0-9]+[^>]{0,20}> ([0-9]{4,9})\b`)
})

// fail takes an error of the API.
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
