package model_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
	"flame/tests/model/rules"
)

func TestRulesDecideAndCount(t *testing.T) {
	server := model.Start(t, model.Script{{Name: "main", Turns: []model.Turn{{Thinking: "hm", Text: "one"}, {Thinking: "so", Text: "two"}}}})
	judge := rules.New(rules.Options{Protocol: true, Bound: true, Cache: true})
	server.Enforce(judge)
	path := server.URL + "/v1/messages"
	long := strings.Repeat("word ", 1000)
	begin := `{"messages": [{"role": "user", "content": [{"type": "text", "text": "` + long + `", "cache_control": {}}]}`

	status, refused := post(t, path, `{"messages": [{"role": "user", "content": " "}]}`)
	assert.Equal(t, 400, status)
	assert.Contains(t, refused, "invalid_request_error")
	_, first := post(t, path, begin+"]}")
	var answer struct {
		Content []json.RawMessage
		Usage   struct {
			Written int `json:"cache_creation_input_tokens"`
			Read    int `json:"cache_read_input_tokens"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(first), &answer))
	require.Len(t, answer.Content, 2, "a refused request takes no turn")
	assert.Greater(t, answer.Usage.Written, 1000)

	said := `, {"role": "assistant", "content": [` + string(answer.Content[0]) + `, ` + string(answer.Content[1]) + `]}, {"role": "user", "content": "and"}]`
	_, stream := post(t, path, begin+said+`, "stream": true}`)
	assert.Contains(t, stream, "signature_delta")
	assert.Contains(t, stream, "two")
	assert.Contains(t, stream, `"cache_creation_input_tokens":0`)
	status, refused = post(t, path, strings.Replace(begin+said+"}", "word", "other", 1))
	assert.Equal(t, 400, status)
	assert.Contains(t, refused, "bound to a different conversation")

	seen := server.Requests()
	require.Len(t, seen, 4)
	assert.Error(t, seen[0].Refused)
	assert.Len(t, server.By("main"), 2)
	assert.Equal(t, 2, judge.Stats().Rejected)
	assert.Positive(t, judge.Stats().Read)
}

func TestTheJudgeCountsWhatOtherAPIsCache(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	tests := map[string]struct{ path, body, read string }{
		"OpenAI": {"/v1/responses", `{"model": "m", "input": [{"role": "user", "content": "` + long + `"}]}`, `"cached_tokens":(\d+)`},
		"Google": {"/v1beta/models/m:generateContent", `{"contents": [{"role": "user", "parts": [{"text": "` + long + `"}]}]}`,
			`"cachedContentTokenCount":(\d+)`},
		"Google, with a schema": {"/v1beta/models/m:generateContent",
			`{"generationConfig": {"responseSchema": {"type": "object"}}, "contents": [{"role": "user", "parts": [{"text": "` + long + `"}]}]}`,
			`"cachedContentTokenCount":(\d+)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := model.Start(t, nil)
			judge := rules.New(rules.Options{Cache: true})
			server.Enforce(judge)
			for _, cached := range []bool{false, true} {
				_, answer := post(t, server.URL+tt.path, tt.body)
				found := regexp.MustCompile(tt.read).FindStringSubmatch(answer)
				require.NotNil(t, found, answer)
				assert.Equal(t, cached, found[1] != "0", answer)
			}
			assert.Equal(t, 2, judge.Stats().Requests)
			assert.Positive(t, judge.Stats().Out)
		})
	}
}
