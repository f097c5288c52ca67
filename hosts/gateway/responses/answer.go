package responses

import (
	"cmp"
	"net/http"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/gateway/codec"
)

// form matches the API's errors about items that do not fit together.
var form = core.Pattern(`(?i)reasoning|encrypted|function_call|function call|tool call|tool output|input\[|following item|item_id`)

// statuses are the HTTP statuses of errors that the API reports after an answer has begun, by
// their codes.
var statuses = map[string]int{
	"rate_limit_exceeded": http.StatusTooManyRequests, "server_is_overloaded": http.StatusServiceUnavailable,
	"slow_down": http.StatusServiceUnavailable,
}

// fail notes an error of the API.
func fail(r *codec.Reader, e gjson.Result) {
	r.Failed = cmp.Or(statuses[e.Get("code").Str], http.StatusInternalServerError)
	r.Malformed = form().MatchString(cmp.Or(e.Get("message").Str, e.Str))
}

// failure returns an error in the API's form.
func failure(message string) any {
	return map[string]any{"error": map[string]any{"type": "server_error", "message": message, "code": nil, "param": nil}}
}

// whole reads an answer that is not streamed.
func whole(r *codec.Reader, answer gjson.Result) {
	if e := answer.Get("error"); e.IsObject() {
		fail(r, e)
		return
	}
	if detail := answer.Get("detail"); detail.Exists() {
		fail(r, detail)
		return
	}
	if answer.Get("object").Str != "response" {
		return
	}
	answer.Get("output").ForEach(func(_, value gjson.Result) bool {
		r.Started()
		add(r, value)
		return true
	})
	end(r, answer)
}

// add notes an item of the answer.
func add(r *codec.Reader, value gjson.Result) {
	i, ok := readItem(value)
	if !ok || !i.ofModel() {
		return
	}
	if i.sort() == call {
		r.AddCall(i.call)
	} else if i.sort() == speech {
		r.AddWords(textOf(i.content))
	}
	r.AddThought(i.sealed)
}

// end notes the end of an answer.
func end(r *codec.Reader, answer gjson.Result) {
	begin(r, answer)
	r.Whole = true
}

func begin(r *codec.Reader, answer gjson.Result) {
	r.Begin(answer.Get("id").Str, answer.Get("model").Str, answer.Get("usage"))
}

// event reads an event of a streamed answer.
func event(r *codec.Reader, event gjson.Result) {
	switch event.Get("type").Str {
	case "response.created":
		begin(r, event.Get("response"))
	case "response.output_item.added":
		r.Started()
	case "response.output_item.done":
		r.Started()
		add(r, event.Get("item"))
	case "response.completed", "response.incomplete":
		end(r, event.Get("response"))
	case "response.failed":
		end(r, event.Get("response"))
		fail(r, event.Get("response.error"))
	case "error":
		if e := event.Get("error"); e.IsObject() {
			fail(r, e)
		} else {
			fail(r, event)
		}
	}
}
