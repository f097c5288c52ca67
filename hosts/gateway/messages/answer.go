package messages

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/gateway/codec"
)

// form matches the API's errors about messages, or their thinking, that do not fit together.
var form = core.Pattern("thinking|signature|tool_use|tool_result|role|cache_control|non-empty|context_management")

// tooMany matches the API's errors about more tokens than the model accepts.
var tooMany = core.Pattern(`(?:prompt is too long|exceed context limit): [0-9]+[^>]{0,20}> ([0-9]{4,9})\b`)

// statuses are the HTTP statuses of errors that the API reports after an answer has begun.
var statuses = map[string]int{"overloaded_error": 529, "rate_limit_error": http.StatusTooManyRequests}

// fail notes an error of the API.
func fail(r *codec.Reader, e gjson.Result) {
	kind := e.Get("type").Str
	r.Failed = cmp.Or(statuses[kind], http.StatusInternalServerError)
	if kind != "invalid_request_error" {
		return
	}
	says := e.Get("message").Str
	r.Malformed = form().MatchString(says)
	if found := tooMany().FindStringSubmatch(says); found != nil {
		r.Window, _ = strconv.Atoi(found[1])
	}
}

// failure returns an error in the API's form.
func failure(message string) any {
	return map[string]any{"type": "error", "error": map[string]string{"type": "api_error", "message": message}}
}

// whole reads an answer that is not streamed.
func whole(r *codec.Reader, m gjson.Result) {
	switch m.Get("type").Str {
	case "message":
	case "error":
		fail(r, m.Get("error"))
		return
	default:
		return
	}
	begin(r, m)
	m.Get("content").ForEach(func(_, value gjson.Result) bool {
		r.Started()
		add(r, readBlock(value))
		return true
	})
	r.Whole = true
}

func begin(r *codec.Reader, m gjson.Result) {
	r.Begin(m.Get("id").Str, m.Get("model").Str, m.Get("usage"))
}

func add(r *codec.Reader, b codec.Part) {
	switch b.Kind {
	case codec.Calls:
		r.AddCall(b.ID)
	case codec.Words:
		r.AddWords(b.Text)
	case codec.Thought:
		r.AddThought(b.Signature)
	}
}

// event reads an event of a streamed answer.
func event(r *codec.Reader, event gjson.Result) {
	switch event.Get("type").Str {
	case "message_start":
		begin(r, event.Get("message"))
	case "content_block_start":
		r.Started()
		add(r, readBlock(event.Get("content_block")))
	case "content_block_delta":
		delta := event.Get("delta")
		switch delta.Get("type").Str {
		case "text_delta":
			r.AddWords(delta.Get("text").Str)
		case "signature_delta":
			r.AddThought(delta.Get("signature").Str)
		}
	case "message_delta":
		if usage := codec.UsageOf(event.Get("usage")); usage != nil {
			r.Final = usage
		}
	case "error":
		fail(r, event.Get("error"))
	case "message_stop":
		r.Whole = true
	}
}
