package messages

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
	"flame/hosts/gateway/codec"
)

// Limits of the API's cache (documented): the marks in a request, and the blocks between a mark
// and the end of the cached entry that the API finds from it.
const (
	maxMarks = 4
	reach    = 20
)

const markKey = `"cache_control":`

// A mark has the cache keep the messages before an open frame, so that they are still cached
// when the frame is left out. None of the host's own marks is that far back.
type mark struct {
	at    int    // index of the message; -1: no mark
	value string // of cache_control
}

// markFor returns where to put a mark: only if the request has fewer marks than allowed, and the
// host's own marks are too far away from the place.
func (r *request) markFor(history []fold.Message, dropped map[string]bool) mark {
	value, none := r.newestMark(), mark{at: -1}
	if value == "" || strings.Count(r.raw, markKey) >= maxMarks {
		return none
	}
	at := openSince(history) - 1
	for at >= 0 && dropped[history[at].Name] {
		at--
	}
	if at < 0 || history[at].Role == core.RoleAssistant || !canBeMarked(&r.messages[at]) {
		return none
	}
	behind := 0
	for i := at + 1; i < len(history); i++ {
		if !dropped[history[i].Name] {
			behind += len(r.messages[i].Parts)
		}
	}
	if behind <= reach {
		return none
	}
	return mark{at, value}
}

// canBeMarked reports whether the message has a block that can have a mark, and no mark yet.
func canBeMarked(m *codec.Message) bool {
	return len(m.Parts) > 0 && len(m.Of(codec.Unknown)) == 0 && !strings.Contains(m.Raw, markKey)
}

// Asks returns what the request asks for beside its messages.
func (r *request) Asks() codec.Params {
	return codec.Params{Model: r.model, Hour: r.keepsHour(), Leads: r.thinking == "enabled"}
}

// keepsHour reports whether the request asks for an hour in the cache.
func (r *request) keepsHour() bool { return gjson.Get(r.newestMark(), "ttl").Str == "1h" }

// newestMark returns the value of the last mark in the messages; empty without a mark.
func (r *request) newestMark() string {
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
func marked(m *codec.Message, raw, value string) string {
	if !m.Listed {
		text := gjson.Get(raw, "content")
		return raw[:text.Index] + `[{"type":"text","text":` + text.Raw + `,` + markKey + value + `}]` + raw[text.Index+len(text.Raw):]
	}
	list := gjson.Get(raw, "content")
	at := strings.LastIndexByte(raw[:list.Index+len(list.Raw)], '}') // the end of the last block
	return raw[:at] + `,` + markKey + value + raw[at:]
}
