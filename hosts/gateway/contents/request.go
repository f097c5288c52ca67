// Package contents reads and edits requests to Google's Gemini API (generateContent), and reads the
// parts of the answers that a gateway needs. It keeps the bytes of everything that it does not edit.
package contents

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/gateway/dialect"
)

// Dialect returns the API.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Answers: func(path string) bool { return method().MatchString(path) },
		Parse:   func(path string, body []byte) (dialect.Request, error) { return parse(path, body) },
		Event:   chunk, Whole: whole, Failure: failure,
	}
}

// method matches the paths of requests for an answer, and finds the model in them.
var method = core.Pattern(`^v[0-9a-z]+/models/([^/:]+):(?:generateContent|streamGenerateContent)$`)

// A request is the body of a request (a dialect.Request).
type request struct {
	model    string
	raw      string
	names    dialect.Names // of the contents, after History
	list     dialect.Span  // of the list of contents
	contents []content
}

// Asks returns what the request asks for beside its contents.
func (r *request) Asks() dialect.Asks { return dialect.Asks{Model: r.model} }

// Names returns the names that History gave.
func (r *request) Names() dialect.Names { return r.names.Kept() }

// A content is one message of a request.
type content struct {
	raw   string
	role  core.Role
	parts []part
	list  dialect.Span // of the parts, in raw
}

// A part is one part of a message.
type part struct {
	raw       string
	kind      kind
	id        string // of a call, or of the call that a result answers
	made      bool   // flame made the id, as the part has none
	tool      string
	text      string
	signature string       // of the thought before the part
	input     gjson.Result // of a call
	response  gjson.Result // of a result
}

// A kind is what a part holds.
type kind int

// The kinds of parts. A message with an unknown part stays as it is.
const (
	unknown kind = iota
	words
	thought
	media
	call
	result
)

// parse reads a body.
func parse(path string, body []byte) (*request, error) {
	r := &request{raw: string(body)}
	found, ok := dialect.Members(r.raw)
	list := found["contents"]
	if !ok || !list.IsArray() {
		return nil, dialect.ErrUnread
	}
	if model := method().FindStringSubmatch(path); model != nil {
		r.model = model[1]
	}
	r.list = dialect.SpanOf(list)
	for _, value := range list.Array() {
		c, ok := readContent(value)
		if !ok {
			return nil, dialect.ErrUnread
		}
		r.contents = append(r.contents, c)
	}
	return r, nil
}

// roles are the roles of the API.
var roles = map[string]core.Role{"user": core.RoleUser, "function": core.RoleUser, "model": core.RoleAssistant}

func readContent(value gjson.Result) (c content, ok bool) {
	c.raw = value.Raw
	keys := 0
	gjson.Parse(c.raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role":
			c.role, keys = roles[value.Str], keys+1
		case "parts":
			keys++
			if ok = value.IsArray(); ok {
				c.list, c.parts = dialect.SpanOf(value), readParts(value)
			}
		}
		return true
	})
	return c, ok && keys == 2 && c.role != "" // neither is there twice
}

// readParts reads the parts of a message. Calls and results without ids get the same ones, as they are in
// the same order.
func readParts(list gjson.Result) (parts []part) {
	nth := map[kind]int{}
	list.ForEach(func(_, value gjson.Result) bool {
		p := readPart(value)
		if p.id == "" && (p.kind == call || p.kind == result) {
			p.id, p.made = madeID(p.tool, nth[p.kind]), true
		}
		nth[p.kind]++
		parts = append(parts, p)
		return true
	})
	return parts
}

// madeID returns the id of a call without one: the nth of its message.
func madeID(tool string, nth int) string { return tool + "#" + strconv.Itoa(nth) }

func readPart(value gjson.Result) part {
	p := part{raw: value.Raw}
	gjson.Parse(p.raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			p.text, p.kind = value.Str, max(p.kind, words)
		case "thought":
			if value.Bool() {
				p.kind = max(p.kind, thought)
			}
		case "thoughtSignature":
			p.signature = value.Str
		case "inlineData", "fileData":
			p.kind = media
		case "functionCall":
			p.kind, p.id, p.tool, p.input = call, value.Get("id").Str, value.Get("name").Str, value.Get("args")
		case "functionResponse":
			p.kind, p.id, p.tool, p.response = result, value.Get("id").Str, value.Get("name").Str, value.Get("response")
		}
		return true
	})
	return p
}

// failed reports whether a result is an error.
func (p *part) failed() bool { return p.response.Get("error").Exists() }

// said returns the text of a result.
func (p *part) said() string {
	if text := p.response.Get("output"); text.Exists() {
		return text.Str
	}
	return p.response.Get("error").Str
}

// of returns the parts of a kind.
func (c *content) of(k kind) (parts []*part) {
	for i := range c.parts {
		if c.parts[i].kind == k {
			parts = append(parts, &c.parts[i])
		}
	}
	return parts
}

// texts returns all words of a message, without thoughts.
func (c *content) texts() string {
	var all strings.Builder
	for _, p := range c.of(words) {
		all.WriteString(p.text)
	}
	return all.String()
}
