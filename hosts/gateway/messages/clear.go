package messages

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"flame/hosts"
)

// When the API's own context editing clears results of tools (by default from
// 100,000 tokens on), and how much it keeps.
const (
	clearFrom  = 40_000 // tokens of the request
	clearLeast = 10_000 // tokens; for less, writing the cache again is not worth it
	clearKeep  = 6      // newest calls
)

// clearing is a part of the header of requests for which the API can edit contexts.
const clearing = "context-management-"

// Cleared returns the body with a request that the API itself clears old results of tools, if
// the headers allow that. Results of flame's tools stay: they report the states of frames. A body
// that already has such a request stays as it is.
func (r *request) Cleared(headers http.Header, w *hosts.GatewaySpec) []byte {
	const kind = "clear_tool_uses_20250919"
	if !strings.Contains(strings.Join(headers.Values("Anthropic-Beta"), ","), clearing) {
		return []byte(r.raw)
	}
	for _, edit := range r.edits.Get("edits").Array() {
		if edit.Get("type").Str == kind {
			return []byte(r.raw)
		}
	}
	own := []string{}
	for _, tool := range r.tools {
		if w.FlameTool(tool) != "" {
			own = append(own, tool)
		}
	}
	edit, err := json.Marshal(map[string]any{
		"type": kind, "trigger": amount("input_tokens", clearFrom), "keep": amount("tool_uses", clearKeep),
		"clear_at_least": amount("input_tokens", clearLeast), "exclude_tools": own,
	})
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return []byte(r.withEdit(string(edit)))
}

func amount(of string, n int) map[string]any { return map[string]any{"type": of, "value": n} }

// withEdit returns the body with one more edit of the context, after its own: the API requires
// the edit of thinking to be the first.
func (r *request) withEdit(edit string) string {
	edits := r.edits.Get("edits")
	switch {
	case edits.IsArray():
		at := edits.Index + len(edits.Raw) - 1
		comma := ","
		if len(edits.Array()) == 0 {
			comma = ""
		}
		return r.raw[:at] + comma + edit + r.raw[at:]
	case r.edits.IsObject():
		at := r.edits.Index + strings.IndexByte(r.edits.Raw, '{') + 1
		comma := ","
		if len(r.edits.Map()) == 0 {
			comma = ""
		}
		return r.raw[:at] + `"edits":[` + edit + `]` + comma + r.raw[at:]
	case r.edits.Exists() && r.edits.Type != gjson.Null:
		return r.raw // of an unknown form
	case r.edits.Exists():
		return r.raw[:r.edits.Index] + `{"edits":[` + edit + `]}` + r.raw[r.edits.Index+len(r.edits.Raw):]
	}
	return r.raw[:r.end] + `,"context_management":{"edits":[` + edit + `]}` + r.raw[r.end:]
}
