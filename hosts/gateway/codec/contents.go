package codec

import (
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
)

// Contents returns Google's Gemini API (generateContent).
func Contents() *Codec {
	return &Codec{
		IsModelCall: func(path string) bool { return generate().MatchString(path) },
		Failure: func(message string) any {
			return map[string]any{"error": map[string]any{"code": http.StatusBadGateway, "message": message, "status": "UNAVAILABLE"}}
		},
		list: "contents", read: readContent, joined: true, begin: keepTurn, says: userContents, edited: editedContent,
		model: func(path string) string {
			if found := generate().FindStringSubmatch(path); found != nil {
				return found[1]
			}
			return ""
		},
		event: readChunk, whole: wholeContent,
		failures: failures{
			code: "code", only: [2]string{"status", "INVALID_ARGUMENT"},
			form:    core.Pattern(`(?i)function.?(?:call|response)|signature|\brole\b|\bturn\b|contents`),
			tooMany: core.Pattern(`exceeds the maximum number of tokens allowed \(?([0-9]{4,9})\b`),
		},
	}
}

// generate matches the paths of requests for an answer, and finds the model in them.
var generate = core.Pattern(`^v[0-9a-z]+/models/([^/:]+):(?:generateContent|streamGenerateContent)$`)

// contentRoles are the roles of the API.
var contentRoles = map[string]core.Role{"user": core.RoleUser, "function": core.RoleUser, "model": core.RoleAssistant}

func readContent(r *Request, value gjson.Result) bool {
	m := &Message{}
	if !m.readList(value, "parts", contentRoles) || !m.List.IsArray() {
		return false
	}
	m.Parts = readParts(m.List)
	r.messages = append(r.messages, m.finish())
	return true
}

// readParts reads the parts of a message. Calls and results without ids get the same ones, as they are in
// the same order.
func readParts(list gjson.Result) (parts []Part) {
	nth := map[Kind]int{}
	list.ForEach(func(_, value gjson.Result) bool {
		p := readPart(value)
		if p.ID == "" && (p.Kind == calls || p.Kind == results) {
			p.ID, p.Made = p.Tool+"#"+strconv.Itoa(nth[p.Kind]), true
		}
		nth[p.Kind]++
		parts = append(parts, p)
		return true
	})
	return parts
}

func readPart(value gjson.Result) Part {
	p := Part{Raw: value.Raw}
	gjson.Parse(p.Raw).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			p.Text, p.Kind = value.Str, max(p.Kind, words)
		case "thought":
			if value.Bool() {
				p.Kind = max(p.Kind, thoughts)
			}
		case "thoughtSignature":
			p.Signature = value.Str
		case "inlineData", "fileData":
			p.Kind, p.Shows = media, true
		case "functionCall":
			p.Kind, p.ID, p.Tool, p.Input = calls, value.Get("id").Str, value.Get("name").Str, value.Get("args")
		case "functionResponse":
			p.Kind, p.ID, p.Tool, p.Content = results, value.Get("id").Str, value.Get("name").Str, value.Get("response")
			p.Failed = p.Content.Get("error").Exists()
		}
		return true
	})
	switch p.Kind {
	case thoughts:
	case media:
		p.Tokens = pictureTokens
	default:
		p.Tokens = tokens(len(p.Raw) - len(p.Signature))
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

// userContents returns a message of the user.
func userContents(texts []string) []string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = `{"text":` + quoted(text) + `}`
	}
	return []string{`{"role":"user","parts":` + listOf(parts) + `}`}
}

// keepTurn keeps the thoughts of the current turn, as Google defines it: since the user's last message
// that is no result the API requires signatures (documented).
func keepTurn(r *Request, history []fold.Message, e *edit) {
	for i := len(r.messages) - 1; i >= 0; i-- {
		delete(e.stale, history[i].Name)
		if m := &r.messages[i]; m.Role == core.RoleUser && len(m.of(words)) > 0 && !m.Results {
			return
		}
	}
}

// editedContent returns a message as it is sent: stale, without its thoughts and their signatures; mute,
// without its words, unless they have a signature that stays.
func editedContent(e *edit, m *Message, name string) []string {
	stale, mute := e.stale[name], e.mute[name]
	changed, parts := false, make([]string, 0, len(m.Parts))
	for i := range m.Parts {
		p := &m.Parts[i]
		line, cut := e.cut(p)
		switch {
		case stale && (p.Kind == thoughts || p.Signature != "" && p.Kind == words && p.Text == ""), cut && line == "",
			mute && p.Kind == words && (stale || p.Signature == ""):
			changed = true
		case cut && p.Kind == results && p.Content.Exists():
			response := gjson.Get(p.Raw, "functionResponse.response")
			parts, changed = append(parts, put(p.Raw, response, `{"output":`+quoted(line)+`}`)), true
		case stale && p.Signature != "":
			parts, changed = append(parts, without(p.Raw, "thoughtSignature")), true
		default:
			parts = append(parts, p.Raw)
		}
	}
	if !changed || len(parts) == 0 {
		return []string{m.Raw}
	}
	return []string{put(m.Raw, m.List, listOf(parts))}
}

// wholeContent reads an answer that is not a stream of events: one document, or a list of all chunks.
func wholeContent(r *Reader, answer gjson.Result) {
	if !answer.IsArray() {
		readChunk(r, answer)
		return
	}
	answer.ForEach(func(_, value gjson.Result) bool {
		readChunk(r, value)
		return true
	})
}

// readChunk reads a part of an answer. Each has the usage so far.
func readChunk(r *Reader, chunk gjson.Result) {
	if e := chunk.Get("error"); e.Exists() {
		r.fail(e)
		return
	}
	if r.Model == "" {
		r.begin(chunk, "responseId", "modelVersion", "usageMetadata")
	} else if told := usageOf(chunk.Get("usageMetadata")); told != nil {
		r.Usage = told
	}
	candidate := chunk.Get("candidates.0")
	for _, p := range readParts(candidate.Get("content.parts")) {
		r.started()
		r.add(&p)
	}
	r.Whole = r.Whole || candidate.Get("finishReason").Str != "" || chunk.Get("promptFeedback.blockReason").Str != ""
}
