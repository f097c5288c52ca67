package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model/rules"
)

// A conversation is written as its messages: the role's letter, then blocks. A block is a text,
// call:ID, result:ID, think, or empty.
func conversation(t *testing.T, messages string) []rules.Message {
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

// table reads the cases of a test.
func table[C any](t *testing.T, name string) (cases map[string]C) {
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &cases))
	return cases
}

func TestProtocol(t *testing.T) {
	tests := table[struct{ Obeys, Breaks, Want string }](t, "protocol")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, rules.Obeys(conversation(t, tt.Obeys)))
			assert.ErrorContains(t, rules.Obeys(conversation(t, tt.Breaks)), tt.Want)
		})
	}
	assert.ErrorContains(t, rules.Obeys(nil), "at least one message")
}

func TestProtocolOfARequest(t *testing.T) {
	for name, tt := range map[string]struct {
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
	} {
		t.Run(name, func(t *testing.T) {
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

func TestCachesThatNeedNoMarks(t *testing.T) {
	for name, tt := range map[string]struct {
		read  rules.Read
		whole string // a request with room for a text and for more of the conversation
		more  string
		paid  bool // for what is put into the cache
	}{
		"Responses": {
			read: rules.Responses, paid: true,
			whole: `{"instructions": "be brief", "tools": [{"name": "read"}], "input": [{"role": "user", "content": %q}%s]}`,
			more:  `, {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}, {"role": "assistant", "content": "yes"}`,
		},
		"contents": {
			read: rules.Contents,
			whole: `{"systemInstruction": {"parts": [{"text": "be brief"}]}, "tools": [{}],
				"contents": [{"role": "user", "parts": [{"text": %q}]}%s]}`,
			more: `, {"role": "model", "parts": [{"functionCall": {"name": "read"}, "thoughtSignature": "x"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			judge := rules.New(rules.Options{Cache: true, Now: func() time.Time { return now }})
			ask := func(text, more string) rules.Verdict {
				return judge.Count("s", tt.read([]byte(fmt.Sprintf(tt.whole, text, more))), nil)
			}
			long := strings.Repeat("word ", 1000)
			first := ask(long, "")
			new := first.Uncached
			if tt.paid {
				new = first.Written
			}
			assert.Greater(t, new, 1000)
			assert.Zero(t, first.Read+first.Uncached+first.Written-new)

			assert.Equal(t, new, ask(long, tt.more).Read, "what is new is at the end")
			assert.Zero(t, ask("other "+long, tt.more).Read, "another beginning")
			assert.Zero(t, ask("short", "").Read+ask("short", "").Read, "too short to be kept")
			now = now.Add(time.Hour)
			assert.Zero(t, ask(long, "").Read, "too late")

			assert.Error(t, judge.Count("s", rules.Body{}, errors.New("refused")).Refused)
			stats := judge.Stats()
			assert.Equal(t, []int{7, 1, 2}, []int{stats.Requests, stats.Rejected, stats.Thinking})
			assert.Equal(t, stats.Tokens, stats.Read+stats.Written+stats.Uncached)
			assert.Equal(t, map[string]int{"refused": 1}, judge.Reasons())
		})
	}
}

func TestOtherBodiesAreEmpty(t *testing.T) {
	for _, read := range []rules.Read{rules.Responses, rules.Contents} {
		assert.Empty(t, read([]byte("no JSON")).Messages)
	}
}
