package contents

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/gateway/codec"
)

// form matches the API's errors about contents, or their thoughts, that do not fit together.
var form = core.Pattern(`(?i)function.?(?:call|response)|signature|\brole\b|\bturn\b|contents`)

// tooMany matches the API's errors about more tokens than the model accepts.
var tooMany = core.Pattern(`exceeds the maximum number of tokens allowed \(?([0-9]{4,9})\b`)

// fail notes an error of the API.
func fail(r *codec.Reader, e gjson.Result) {
	r.Failed = cmp.Or(int(e.Get("code").Int()), http.StatusInternalServerError)
	if e.Get("status").Str != "INVALID_ARGUMENT" {
		return
	}
	says := e.Get("message").Str
	if found := tooMany().FindStringSubmatch(says); found != nil {
		r.Window, _ = strconv.Atoi(found[1])
		return
	}
	r.Malformed = form().MatchString(says)
}

// failure returns an error in the API's form.
func failure(message string) any {
	return map[string]any{"error": map[string]any{"code": http.StatusBadGateway, "message": message, "status": "UNAVAILABLE"}}
}

// whole reads an answer that is not a stream of events: one document, or a list of all chunks.
func whole(r *codec.Reader, answer gjson.Result) {
	if !answer.IsArray() {
		chunk(r, answer)
		return
	}
	answer.ForEach(func(_, value gjson.Result) bool {
		chunk(r, value)
		return true
	})
}

// chunk reads a part of an answer. Each has the usage so far.
func chunk(r *codec.Reader, part gjson.Result) {
	if e := part.Get("error"); e.Exists() {
		fail(r, e)
		return
	}
	usage := part.Get("usageMetadata")
	if r.Model == "" {
		r.Begin(part.Get("responseId").Str, part.Get("modelVersion").Str, usage)
	} else if told := codec.UsageOf(usage); told != nil {
		r.Usage = told
	}
	candidate := part.Get("candidates.0")
	for _, p := range readParts(candidate.Get("content.parts")) {
		r.Started()
		r.AddThought(p.Signature)
		switch p.Kind {
		case codec.Calls:
			r.AddCall(p.ID)
		case codec.Words:
			r.AddWords(p.Text)
		}
	}
	r.Whole = r.Whole || candidate.Get("finishReason").Str != "" || part.Get("promptFeedback.blockReason").Str != ""
}
