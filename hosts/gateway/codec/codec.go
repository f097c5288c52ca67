// Package codec reads and edits requests in the APIs of models, and reads the parts of the answers
// that a gateway needs. It keeps the bytes of everything that it does not edit. What holds for all
// APIs stands once: the names of messages, what folding reads of calls and their results, edits, and
// the reading of answers as they pass. A file for each API says how that API writes all this.
package codec

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core/fold"
	"flame/hosts"
)

// A Codec reads and edits the requests of one API, and reads its answers.
type Codec struct {
	// IsModelCall reports whether a POST to a path below the base URL asks for an answer of a model.
	IsModelCall func(path string) bool
	// Failure returns the body of an error: the upstream did not answer.
	Failure func(message string) any

	list   string                                            // the member of a body that lists its messages
	refuse func(r *Request) bool                             // reports that a body has parts that flame cannot edit; nil: none has
	read   func(r *Request, element gjson.Result) (ok bool)  // reads an element of the list; it may follow on the last message
	model  func(path string) string                          // returns the model that a path names; nil: the body names it
	asks   func(r *Request, p *Params)                       // reads what else a request asks for; nil: nothing
	joined bool                                              // all texts of an answer are one; else its last one counts, and a summary begins its message
	begin  func(r *Request, history []fold.Message, e *edit) // looks at the whole request before it is edited; nil: nothing
	says   func(texts []string) []string                     // returns what the user says as elements of the list
	inside bool                                              // what the user says beside results stands in their message
	edited func(e *edit, m *Message, name string) []string   // returns a message as it is sent

	clear func(r *Request, headers http.Header, w *hosts.GatewaySpec) string // returns the body for Cleared; nil: the API cannot

	event, whole func(r *Reader, data gjson.Result) // read an event of a streamed answer, and an answer that is not streamed, or an error
	failures     failures
}

// failures are the errors of an API.
type failures struct {
	code          string                // the member that says what went wrong
	statuses      map[string]int        // HTTP statuses of errors after an answer has begun, by their codes
	only          [2]string             // a member, and its value in errors about the request itself; empty: all may be
	form, tooMany func() *regexp.Regexp // match errors about messages that do not fit together, and about more tokens than the model accepts; nil: none
}

// note notes an error.
func (f *failures) note(r *Reader, e gjson.Result) {
	code := e.Get(f.code)
	r.Failed = cmp.Or(f.statuses[code.Str], int(code.Int()), http.StatusInternalServerError)
	if f.only[0] != "" && e.Get(f.only[0]).Str != f.only[1] {
		return
	}
	says := cmp.Or(e.Get("message").Str, e.Str)
	if f.tooMany != nil {
		if found := f.tooMany().FindStringSubmatch(says); found != nil {
			r.Window, _ = strconv.Atoi(found[1])
			return
		}
	}
	r.Malformed = f.form().MatchString(says)
}

// Params are the parameters of a request that matter to folding.
type Params struct {
	Model string
	Hour  bool // the API's cache is to keep the messages for an hour
	Leads bool // see fold.Conditions
}

// ErrUnread is returned for a body that flame cannot read.
var ErrUnread = errors.New("the body of the request is not as expected")

// A Request is the body of a request, as it came.
type Request struct {
	api      *Codec
	raw      string
	members  map[string]gjson.Result
	model    string
	messages []Message
	names    MessageNames    // of the messages, after History
	open     map[string]bool // while the body is read, the calls without a result so far
}

// Parse reads the body of a request to a path. It returns ErrUnread for a body that does not follow
// the API, or has parts that flame cannot edit.
func (c *Codec) Parse(path string, body []byte) (*Request, error) {
	r := &Request{api: c, raw: string(body), open: map[string]bool{}}
	var ok bool
	if r.members, ok = members(r.raw); !ok || !r.members[c.list].IsArray() || c.refuse != nil && c.refuse(r) {
		return nil, ErrUnread
	}
	if r.model = r.members["model"].Str; c.model != nil {
		r.model = c.model(path)
	}
	r.members[c.list].ForEach(func(_, element gjson.Result) bool {
		ok = c.read(r, element)
		return ok
	})
	if !ok {
		return nil, ErrUnread
	}
	return r, nil
}

// Asks returns what the request asks for beside its messages.
func (r *Request) Asks() Params {
	p := Params{Model: r.model}
	if r.api.asks != nil {
		r.api.asks(r, &p)
	}
	return p
}

// Names returns the names that History gave; the name of the answer continues them.
func (r *Request) Names() MessageNames { return r.names.kept() }

// Cleared returns the body with a request that the API itself clears old results of tools, if it can
// for a request with these headers.
func (r *Request) Cleared(headers http.Header, w *hosts.GatewaySpec) []byte {
	if r.api.clear == nil {
		return []byte(r.raw)
	}
	return []byte(r.api.clear(r, headers, w))
}

// members returns the members of a JSON object; ok is false if the text is not an object or repeats a member.
func members(text string) (all map[string]gjson.Result, ok bool) {
	if !hosts.ValidJSON(text) {
		return nil, false
	}
	return membersOf(gjson.Parse(text))
}

// membersOf is members for a value that is known to be JSON.
func membersOf(value gjson.Result) (all map[string]gjson.Result, ok bool) {
	all, ok = map[string]gjson.Result{}, value.IsObject()
	value.ForEach(func(key, value gjson.Result) bool {
		_, twice := all[key.Str]
		all[key.Str], ok = value, ok && !twice
		return true
	})
	return all, ok
}

// quoted returns a text as JSON.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(raw)
}

// without returns a JSON object without a member.
func without(object, name string) string {
	var members []string
	gjson.Parse(object).ForEach(func(key, value gjson.Result) bool {
		if key.Str != name {
			members = append(members, key.Raw+":"+value.Raw)
		}
		return true
	})
	return "{" + strings.Join(members, ",") + "}"
}

// put returns a text with another one in place of a value of it.
func put(text string, value gjson.Result, with string) string {
	return text[:value.Index] + with + text[value.Index+len(value.Raw):]
}

// listOf returns elements as a list of JSON.
func listOf(elements []string) string { return "[" + strings.Join(elements, ",") + "]" }
