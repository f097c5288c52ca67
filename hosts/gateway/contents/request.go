// Package contents reads and edits requests to Google's Gemini API (generateContent), and reads the
// parts of the answers that a gateway needs. It keeps the bytes of everything that it does not edit.
package contents

import (
	"strconv"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/gateway/codec"
)

// Dialect returns the API.
func Dialect() *codec.Codec {
	return &codec.Codec{
		IsModelCall: func(path string) bool { return method().MatchString(path) },
		Parse:       func(path string, body []byte) (codec.Request, error) { return parse(path, body) },
		Event:       chunk, Whole: whole, Failure: failure,
	}
}

// method matches the paths of requests for an answer, and finds the model in them.
var method = core.Pattern(`^v[0-9a-z]+/models/([^/:]+):(?:generateContent|streamGenerateContent)$`)

// A request is the body of a request (a dialect.Request).
type request struct {
	model    string
	raw      string
	names    codec.MessageNames // of the contents, after History
	list     codec.Span         // of the list of contents
	contents []codec.Message
}

// Asks returns what the request asks for beside its contents.
func (r *request) Asks() codec.Params { return codec.Params{Model: r.model} }

// Names returns the names that History gave.
func (r *request) Names() codec.MessageNames { return r.names.Kept() }

// parse reads a body.
func parse(path string, body []byte) (*request, error) {
	r := &request{raw: string(body)}
	found, ok := codec.Members(r.raw)
	list := found["contents"]
	if !ok || !list.IsArray() {
		return nil, codec.ErrUnread
	}
	if model := method().FindStringSubmatch(path); model != nil {
		r.model = model[1]
	}
	r.list = codec.SpanOf(list)
	for _, value := range list.Array() {
		c, ok := readContent(value)
		if !ok {
			return nil, codec.ErrUnread
		}
		r.contents = append(r.contents, c)
	}
	return r, nil
}

// roles are the roles of the API.
var roles = map[string]core.Role{"user": core.RoleUser, "function": core.RoleUser, "model": core.RoleAssistant}

func readContent(value gjson.Result) (c codec.Message, ok bool) {
	c.Raw = value.Raw
	keys := 0
	gjson.Parse(c.Raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role":
			c.Role, keys = roles[value.Str], keys+1
		case "parts":
			keys++
			if ok = value.IsArray(); ok {
				c.Listed, c.List, c.Parts = true, codec.SpanOf(value), readParts(value)
			}
		}
		return true
	})
	return c, ok && keys == 2 && c.Role != "" // neither is there twice
}

// readParts reads the parts of a message. Calls and results without ids get the same ones, as they are in
// the same order.
func readParts(list gjson.Result) (parts []codec.Part) {
	nth := map[codec.Kind]int{}
	list.ForEach(func(_, value gjson.Result) bool {
		p := readPart(value)
		if p.ID == "" && (p.Kind == codec.Calls || p.Kind == codec.Results) {
			p.ID, p.Made = p.Tool+"#"+strconv.Itoa(nth[p.Kind]), true
		}
		nth[p.Kind]++
		parts = append(parts, p)
		return true
	})
	return parts
}

func readPart(value gjson.Result) codec.Part {
	p := codec.Part{Raw: value.Raw}
	gjson.Parse(p.Raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			p.Text, p.Kind = value.Str, max(p.Kind, codec.Words)
		case "thought":
			if value.Bool() {
				p.Kind = max(p.Kind, codec.Thought)
			}
		case "thoughtSignature":
			p.Signature = value.Str
		case "inlineData", "fileData":
			p.Kind = codec.Media
		case "functionCall":
			p.Kind, p.ID, p.Tool, p.Input = codec.Calls, value.Get("id").Str, value.Get("name").Str, value.Get("args")
		case "functionResponse":
			p.Kind, p.ID, p.Tool, p.Content = codec.Results, value.Get("id").Str, value.Get("name").Str, value.Get("response")
			p.Failed = p.Content.Get("error").Exists()
		}
		return true
	})
	switch p.Kind {
	case codec.Thought:
	case codec.Media:
		p.Tokens = codec.PictureTokens
	default:
		p.Tokens = codec.Tokens(len(p.Raw) - len(p.Signature))
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
