// Package contents reads and edits requests to Google's Gemini API (generateContent), and reads the
// parts of the answers that a gateway needs. It keeps the bytes of everything that it does not edit.
package contents

import (
	"strconv"

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
	contents []dialect.Message
}

// Asks returns what the request asks for beside its contents.
func (r *request) Asks() dialect.Asks { return dialect.Asks{Model: r.model} }

// Names returns the names that History gave.
func (r *request) Names() dialect.Names { return r.names.Kept() }

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

func readContent(value gjson.Result) (c dialect.Message, ok bool) {
	c.Raw = value.Raw
	keys := 0
	gjson.Parse(c.Raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role":
			c.Role, keys = roles[value.Str], keys+1
		case "parts":
			keys++
			if ok = value.IsArray(); ok {
				c.Listed, c.List, c.Parts = true, dialect.SpanOf(value), readParts(value)
			}
		}
		return true
	})
	return c, ok && keys == 2 && c.Role != "" // neither is there twice
}

// readParts reads the parts of a message. Calls and results without ids get the same ones, as they are in
// the same order.
func readParts(list gjson.Result) (parts []dialect.Part) {
	nth := map[dialect.Kind]int{}
	list.ForEach(func(_, value gjson.Result) bool {
		p := readPart(value)
		if p.ID == "" && (p.Kind == dialect.Calls || p.Kind == dialect.Results) {
			p.ID, p.Made = p.Tool+"#"+strconv.Itoa(nth[p.Kind]), true
		}
		nth[p.Kind]++
		parts = append(parts, p)
		return true
	})
	return parts
}

func readPart(value gjson.Result) dialect.Part {
	p := dialect.Part{Raw: value.Raw}
	gjson.Parse(p.Raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			p.Text, p.Kind = value.Str, max(p.Kind, dialect.Words)
		case "thought":
			if value.Bool() {
				p.Kind = max(p.Kind, dialect.Thought)
			}
		case "thoughtSignature":
			p.Signature = value.Str
		case "inlineData", "fileData":
			p.Kind = dialect.Media
		case "functionCall":
			p.Kind, p.ID, p.Tool, p.Input = dialect.Calls, value.Get("id").Str, value.Get("name").Str, value.Get("args")
		case "functionResponse":
			p.Kind, p.ID, p.Tool, p.Content = dialect.Results, value.Get("id").Str, value.Get("name").Str, value.Get("response")
			p.Failed = p.Content.Get("error").Exists()
		}
		return true
	})
	switch p.Kind {
	case dialect.Thought:
	case dialect.Media:
		p.Tokens = dialect.PictureTokens
	default:
		p.Tokens = dialect.Tokens(len(p.Raw) - len(p.Signature))
	}
	response := p.Content
	p.Said = func() string {
		if text := response.Get("output"); text.Exists() {
			return text.Str
		}
		return response.Get("error").Str
	}
	return p
}
