package codec_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/fold"
	"flame/hosts/claudecode"
	"flame/hosts/gateway/codec"
	"flame/tests/cases"
)

// in puts messages into a request.
func in(all ...string) string {
	return `{"model":"m","messages":[` + strings.Join(all, ",\n ") + `],"max_tokens":5}`
}

func parsed(t *testing.T, body string) (*codec.Request, []fold.Message) {
	t.Helper()
	r, err := codec.Messages().Parse("v1/messages", []byte(body))
	require.NoError(t, err)
	return r, r.History(claudecode.Host().Gateway.Spec)
}

const (
	asks   = `{"role":"user","content":[{"type":"text","text":"please"}]}`
	env    = `{"role":"system","content":"# Environment"}`
	pushes = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"mcp__flame__flame_push","input":{"goal":"g"}}]}`
	pushed = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Started frame-aaaaaaaa \"g\". Parent: x."}]}`
)

func TestPicturesCountWhatTheyTakeNotTheirFiles(t *testing.T) {
	t.Parallel()
	picture := `{"type":"image","source":{"type":"base64","data":"` + strings.Repeat("a", 1<<20) + `"}}`
	_, history := parsed(t, in(`{"role":"user","content":[`+picture+`]}`, pushes,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[`+picture+`]}]}`))
	assert.Less(t, history[0].Tokens, 5000)
	assert.Less(t, history[2].Tokens, 5000)
}

func TestCleared(t *testing.T) {
	t.Parallel()
	for name, test := range cases.Read[struct {
		Have  string
		Edits []string // types, as they are sent
	}](t, "testdata/cleared.yaml") {
		r, _ := parsed(t, `{"messages":[`+asks+`]`+test.Have+`,"tools":[{"name":"Read"},{"name":"mcp__flame__flame_pop"}]} `)
		var got struct {
			Context struct {
				Edits []struct {
					Type    string
					Exclude []string `json:"exclude_tools"`
				}
			} `json:"context_management"`
		}
		allowed := http.Header{"Anthropic-Beta": {"x", "context-management-2025-06-27"}}
		require.NoError(t, json.Unmarshal(r.Cleared(allowed, claudecode.Host().Gateway.Spec), &got), name)
		var types []string
		for _, e := range got.Context.Edits {
			types = append(types, e.Type)
		}
		assert.Equal(t, test.Edits, types, name)
		if name != "it already" {
			assert.Equal(t, []string{"mcp__flame__flame_pop"}, got.Context.Edits[len(types)-1].Exclude, name)
		}
	}
}

// long is a history that entered a frame and has worked in it for so many rounds; the host
// marks its last block.
func long(rounds int, before string) []string {
	all := []string{asks, before, pushes, pushed}
	for i := range rounds {
		all = append(all, fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"x%d","name":"Read","input":{}}]}`, i),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"x%d","content":"out"}]}`, i))
	}
	return append(all, `{"role":"assistant","content":[{"type":"text","text":"hm"}]}`,
		`{"role":"user","content":[{"type":"text","text":"last","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`)
}

func TestTheMessagesBeforeAnOpenFrameAreMarked(t *testing.T) {
	t.Parallel()
	const value = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	prompt := `{"role":"user","content":[{"type":"text","text":"a }]"},{"type":"text","text":"a }]"}]}`
	for name, test := range map[string]struct {
		messages []string
		more     string // beside the messages
		want     string // the marked message; empty: none is
	}{
		"a text":           {messages: long(12, env), want: `{"role":"system","content":[{"type":"text","text":"# Environment",` + value + `}]}`},
		"a list":           {messages: long(12, prompt), want: strings.TrimSuffix(prompt, `}]}`) + `,` + value + `}]}`},
		"it is in reach":   {messages: long(5, env)},
		"no mark is free":  {messages: long(12, env), more: `,"system":[{"cache_control":{}},{"cache_control":{}},{"cache_control":{}}]`},
		"the host has one": {messages: long(12, env)[:2]},
	} {
		body := strings.TrimSuffix(in(test.messages...), "}") + test.more + "}"
		r, history := parsed(t, body)
		got := string(r.Amended(history, fold.Edits{}))
		if test.want == "" {
			assert.Equal(t, body, got, name)
			continue
		}
		require.Contains(t, got, test.want, name)
		_, again := parsed(t, got)
		assert.Equal(t, history[1].Name, again[1].Name, name)
	}
	r, _ := parsed(t, in(long(12, env)...))
	assert.True(t, r.Asks().Hour)
}
