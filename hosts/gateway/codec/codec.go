// Package codec is what a gateway needs to know of a model's API, and what packages for single
// APIs share: names for the messages of a conversation, what folding reads of calls and their
// results, edits by names, and the reading of answers as they pass.
package codec

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core/fold"
	"flame/hosts"
)

// A Codec reads and edits the requests of one API, and reads its answers.
type Codec struct {
	// IsModelCall reports whether a POST to a path below the base URL asks for an answer of a model.
	IsModelCall func(path string) bool
	// Parse reads the body of such a request. It returns ErrUnread for a body that does not follow
	// the API, or has parts that flame cannot edit.
	Parse func(path string, body []byte) (Request, error)
	// Event reads the data of one event of a streamed answer, Whole an answer that is not streamed,
	// or an error.
	Event, Whole func(r *Reader, data gjson.Result)
	// Failure returns the body of an error: the upstream did not answer.
	Failure func(message string) any
}

// A Request is the body of a request, as it came. It keeps the bytes of everything that it does
// not edit.
type Request interface {
	// Asks returns what the request asks for beside its messages.
	Asks() Params
	// History returns the messages in the form that folding reads. They have no times.
	History(w *hosts.GatewaySpec) []fold.Message
	// Names returns the names that History gave; the name of the answer continues them.
	Names() MessageNames
	// Amended returns the body after an amendment; history is the result of History.
	Amended(history []fold.Message, a fold.Edits) []byte
}

// A Clearer is a Request of an API that can itself clear old results of tools.
type Clearer interface {
	// Cleared returns the body with a request that the API does so, if it can for a request with these
	// headers.
	Cleared(headers http.Header, w *hosts.GatewaySpec) []byte
}

// Params are the parameters of a request that matter to folding.
type Params struct {
	Model string
	Hour  bool // the API's cache is to keep the messages for an hour
	Leads bool // see fold.Terms
}

// ErrUnread is returned for a body that flame cannot read.
var ErrUnread = errors.New("the body of the request is not as expected")

// Members returns the members of a JSON object; ok is false if the text is not an object or repeats a member.
func Members(text string) (members map[string]gjson.Result, ok bool) {
	if !IsValid(text) {
		return nil, false
	}
	top, members := gjson.Parse(text), map[string]gjson.Result{}
	ok = top.IsObject()
	top.ForEach(func(key, value gjson.Result) bool {
		_, twice := members[key.Str]
		members[key.Str], ok = value, ok && !twice
		return true
	})
	return members, ok
}

// maxDepth bounds how deep lists and objects may be nested.
const maxDepth = 1000

// IsValid reports whether a text is JSON that is not nested so deep that reading it could
// exhaust the stack.
func IsValid(text string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return gjson.Valid(text)
}

// Quoted returns a text as JSON.
func Quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(raw)
}

// A Span is a part of a text.
type Span struct{ From, To int }

// SpanOf returns the part of a text that a value of it is.
func SpanOf(value gjson.Result) Span { return Span{value.Index, value.Index + len(value.Raw)} }

// Without returns a JSON object without a member.
func Without(object, name string) string {
	var members []string
	gjson.Parse(object).ForEach(func(key, value gjson.Result) bool {
		if key.Str != name {
			members = append(members, key.Raw+":"+value.Raw)
		}
		return true
	})
	return "{" + strings.Join(members, ",") + "}"
}

// With returns a text with a list of these elements in place of the part.
func (s Span) With(text string, elements []string) string {
	return text[:s.From] + "[" + strings.Join(elements, ",") + "]" + text[s.To:]
}
