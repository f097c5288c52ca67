package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model/rules"
)

// A conversation is written as its messages: the role's letter, then blocks. A block is a text,
// call:ID, result:ID, think, or empty.
func conversation(t *testing.T, messages string) []rules.Message {
	t.Helper()
	body, err := rules.Parse(request(messages, ""))
	require.NoError(t, err)
	return body.Messages
}

// request is a body with these messages and more fields.
func request(messages, more string) []byte {
	var list []string
	for _, m := range strings.Split(messages, "|") {
		words := strings.Fields(m)
		var blocks []string
		for _, word := range words[1:] {
			blocks = append(blocks, written(word))
		}
		role := map[string]string{"u": "user", "a": "assistant", "s": "system"}[words[0]]
		if role == "" {
			role = words[0]
		}
		list = append(list, fmt.Sprintf(`{"role": %q, "content": [%s]}`, role, strings.Join(blocks, ",")))
	}
	return []byte(`{"model": "m", ` + more + `"messages": [` + strings.Join(list, ",") + `]}`)
}

// written returns a block; a star behind it is a cache mark.
func written(word string) string {
	word, marked := strings.CutSuffix(word, "*")
	kind, id, _ := strings.Cut(word, ":")
	fields := map[string]string{
		"call":   fmt.Sprintf(`"type": "tool_use", "id": %q, "name": "read", "input": {}`, id),
		"result": fmt.Sprintf(`"type": "tool_result", "tool_use_id": %q, "content": "output"`, id),
		"think":  fmt.Sprintf(`"type": "thinking", "thinking": "hm", "signature": %q`, id),
		"empty":  `"type": "text", "text": " "`,
	}[kind]
	if fields == "" {
		fields = fmt.Sprintf(`"type": "text", "text": %q`, word)
	}
	if marked {
		fields += `, "cache_control": {"type": "ephemeral"}`
	}
	return "{" + fields + "}"
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ obeys, breaks, want string }{
		"a call is answered right after": {
			obeys: "u hi|a call:1|u result:1", breaks: "u hi|a call:1|u hi", want: "`tool_use` ids were found",
		},
		"all calls of a message are answered": {
			obeys: "u hi|a call:1 call:2|u result:2 result:1", breaks: "u hi|a call:1 call:2|u result:1", want: "immediately after: 2",
		},
		"consecutive messages of the user are one": {
			obeys: "u hi|a call:1 call:2|u result:1|u result:2 and|u then", breaks: "u hi|a call:1|u and|u result:1", want: "before other content",
		},
		"a call at the end waits for its result": {
			obeys: "u hi|a call:1|u result:1", breaks: "u hi|a call:1", want: "`tool_use` ids were found",
		},
		"a system message does not come between call and result": {
			obeys: "u hi|a call:1|u result:1|s note", breaks: "u hi|a call:1|s note|u result:1", want: "messages.1",
		},
		"a result has its call before it": {
			obeys: "u hi|a call:1|u result:1", breaks: "u hi|a call:1|u result:1 result:2", want: "unexpected `tool_use_id`",
		},
		"an assistant has no results": {
			obeys: "u hi|a call:1|u result:1", breaks: "u hi|a hm result:1", want: "unexpected `tool_use_id`",
		},
		"results stand first": {
			obeys: "u hi|a call:1|u result:1 and", breaks: "u hi|a call:1|u and result:1", want: "before other content",
		},
		"assistants do not follow each other": {
			obeys: "u hi|a yes|u and|a so", breaks: "u hi|a yes|a so", want: "roles must alternate",
		},
		"a system message follows the user": {
			obeys: "u hi|s note|a yes", breaks: "u hi|a yes|s note", want: "must follow a 'user'",
		},
		"a system message precedes an assistant or ends": {
			obeys: "u hi|a yes|u and|s note", breaks: "u hi|s note|u and|a yes", want: "must precede an 'assistant'",
		},
		"no message is empty": {
			obeys: "u hi|s|a yes", breaks: "u hi|a|u and", want: "non-empty content",
		},
		"no text is empty": {
			obeys: "u hi", breaks: "u hi empty", want: "text content blocks must be non-empty",
		},
		"roles are known": {
			obeys: "u hi|a yes", breaks: "u hi|tool yes", want: `unexpected role "tool"`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, rules.Obeys(conversation(t, tt.obeys)))
			assert.ErrorContains(t, rules.Obeys(conversation(t, tt.breaks)), tt.want)
		})
	}
	assert.ErrorContains(t, rules.Obeys(nil), "at least one message")
}

func TestProtocolOfARequest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body   []byte
		breaks string
	}{
		"four marks":             {body: request("u a* b* c*|a d*", "")},
		"five marks":             {body: request("u a* b* c*|a d*", `"system": [{"type": "text", "text": "x", "cache_control": {}}], `), breaks: "a maximum of 4"},
		"thought, then called":   {body: request("u hi|a think:x call:1|u result:1", `"thinking": {"type": "enabled"}, `)},
		"called without thought": {body: request("u hi|a call:1|u result:1", `"thinking": {"type": "enabled"}, `), breaks: "expected `thinking`"},
		"may think, did not":     {body: request("u hi|a call:1|u result:1", `"thinking": {"type": "adaptive"}, `)},
		"bare texts":             {body: []byte(`{"messages": [{"role": "user", "content": "hi"}]}`)},
		"an empty bare text":     {body: []byte(`{"messages": [{"role": "user", "content": ""}]}`), breaks: "non-empty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := rules.Parse(tt.body)
			require.NoError(t, err)
			if tt.breaks == "" {
				assert.NoError(t, body.Obeys())
				return
			}
			assert.ErrorContains(t, body.Obeys(), tt.breaks)
		})
	}
}

// The rules have a verdict on every input.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `[]`, `{"messages": null}`, `{"messages": [null, 1, "x", {"role": 7, "content": {"a": 1}}]}`,
		`{"system": 3, "tools": {"a": 1}, "thinking": [], "messages": [{"role": "user", "content": [[], {"type": 1, "cache_control": null}]}]}`,
		string(request("u hi|a think:x call:1|u result:1* so|s note", `"thinking": {"type": "enabled"}, `)),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		judge := rules.New(rules.Options{Protocol: true, Bound: true, Cache: true})
		verdict := judge.Judge("s", raw)
		stats := judge.Stats()
		assert.Equal(t, verdict.Refused != nil, stats.Rejected == 1)
		assert.Equal(t, stats.Tokens, stats.Read+stats.Written+stats.Uncached)
		assert.GreaterOrEqual(t, stats.Uncached, 0)
	})
}
