package codec

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
)

// Limits of the API's cache (documented): the marks in a request, and the blocks between a mark
// and the end of the cached entry that the API finds from it.
const (
	maxMarks = 4
	reach    = 20
)

const markKey = `"cache_control":`

// chooseMark has the cache keep the messages before an open frame, so that they are still cached
// when the frame is left out. None of the host's own marks is that far back. It chooses none unless the
// request has fewer marks than allowed, and the host's own marks are too far away from the place.
func (r *Request) chooseMark(history []fold.Message, e *edit) {
	value := r.newestMark()
	if value == "" || strings.Count(r.raw, markKey) >= maxMarks {
		return
	}
	at := openSince(history) - 1
	for at >= 0 && e.dropped[history[at].Name] {
		at--
	}
	if at < 0 || history[at].Role == core.RoleAssistant || !canBeMarked(&r.messages[at]) {
		return
	}
	behind := 0
	for i := at + 1; i < len(history); i++ {
		if !e.dropped[history[i].Name] {
			behind += len(r.messages[i].Parts)
		}
	}
	if behind > reach {
		e.marked, e.mark = history[at].Name, value
	}
}

// canBeMarked reports whether the message has a block that can have a mark, and no mark yet.
func canBeMarked(m *Message) bool {
	return len(m.Parts) > 0 && len(m.of(unknown)) == 0 && !strings.Contains(m.Raw, markKey)
}

// newestMark returns the value of the last mark in the messages; empty without a mark.
func (r *Request) newestMark() string {
	for _, m := range slices.Backward(r.messages) {
		if !strings.Contains(m.Raw, markKey) {
			continue
		}
		for _, b := range slices.Backward(m.Parts) {
			if value := gjson.Get(b.Raw, "cache_control"); value.IsObject() {
				return value.Raw
			}
		}
	}
	return ""
}

// openSince returns the index of the message that entered the innermost open frame, or 0.
func openSince(history []fold.Message) int {
	type entered struct {
		frame string
		at    int
	}
	var path []entered
	for i, m := range history {
		for _, move := range m.Moves {
			path = slices.DeleteFunc(path, func(e entered) bool { return e.frame == move.Frame })
			if move.Kind == fold.Enter {
				path = append(path, entered{move.Frame, i})
			}
		}
	}
	if len(path) == 0 {
		return 0
	}
	return path[len(path)-1].at
}

// marked returns the text of a message with a mark on its last block.
func marked(raw, value string) string {
	list := gjson.Get(raw, "content")
	if !list.IsArray() {
		return put(raw, list, `[{"type":"text","text":`+list.Raw+`,`+markKey+value+`}]`)
	}
	at := strings.LastIndexByte(raw[:list.Index+len(list.Raw)], '}') // the end of the last block
	return raw[:at] + `,` + markKey + value + raw[at:]
}

// When the API's own context editing clears results of tools (by default from
// 100,000 tokens on), and how much it keeps.
const (
	clearFrom  = 40_000 // tokens of the request
	clearLeast = 10_000 // tokens; for less, writing the cache again is not worth it
	clearKeep  = 6      // newest calls
)

// clearing is a part of the header of requests for which the API can edit contexts.
const clearing = "context-management-"

// cleared returns the body with a request that the API itself clears old results of tools, if
// the headers allow that. Results of flame's tools stay: they report the states of frames. A body
// that already has such a request stays as it is.
func (r *Request) cleared(headers http.Header, w *hosts.GatewaySpec) string {
	const kind = "clear_tool_uses_20250919"
	ours := func(edit gjson.Result) bool { return edit.Get("type").Str == kind }
	has := slices.ContainsFunc(r.members["context_management"].Get("edits").Array(), ours)
	if has || !strings.Contains(strings.Join(headers.Values("Anthropic-Beta"), ","), clearing) {
		return r.raw
	}
	own := []string{}
	for _, tool := range r.members["tools"].Array() {
		if name := tool.Get("name").Str; w.FlameTool(name) != "" {
			own = append(own, name)
		}
	}
	amount := func(of string, n int) map[string]any { return map[string]any{"type": of, "value": n} }
	edit, err := json.Marshal(map[string]any{
		"type": kind, "trigger": amount("input_tokens", clearFrom), "keep": amount("tool_uses", clearKeep),
		"clear_at_least": amount("input_tokens", clearLeast), "exclude_tools": own,
	})
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return r.withEdit(string(edit))
}

// withEdit returns the body with one more edit of the context, after its own: the API requires
// the edit of thinking to be the first.
func (r *Request) withEdit(edit string) string {
	context := r.members["context_management"]
	edits := context.Get("edits")
	comma := func(full bool) string {
		if full {
			return ","
		}
		return ""
	}
	switch {
	case edits.IsArray():
		at := edits.Index + len(edits.Raw) - 1
		return r.raw[:at] + comma(len(edits.Array()) > 0) + edit + r.raw[at:]
	case context.IsObject():
		at := context.Index + strings.IndexByte(context.Raw, '{') + 1
		return r.raw[:at] + `"edits":[` + edit + `]` + comma(len(context.Map()) > 0) + r.raw[at:]
	case context.Exists() && context.Type != gjson.Null:
		return r.raw // of an unknown form
	case context.Exists():
		return put(r.raw, context, `{"edits":[`+edit+`]}`)
	}
	end := strings.LastIndexByte(r.raw, '}')
	return r.raw[:end] + `,"context_management":{"edits":[` + edit + `]}` + r.raw[end:]
}
