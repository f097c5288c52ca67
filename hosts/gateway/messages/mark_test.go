package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/fold"
)

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
	tests := map[string]struct {
		messages []string
		more     string // beside the messages
		want     string // the marked message; empty: none is
	}{
		"a text":           {messages: long(12, env), want: `{"role":"system","content":[{"type":"text","text":"# Environment",` + value + `}]}`},
		"a list":           {messages: long(12, prompt), want: strings.TrimSuffix(prompt, `}]}`) + `,` + value + `}]}`},
		"it is in reach":   {messages: long(5, env)},
		"no mark is free":  {messages: long(12, env), more: `,"system":[{"cache_control":{}},{"cache_control":{}},{"cache_control":{}}]`},
		"the host has one": {messages: append(long(12, env), answers, popped, pops, popped)[:2]},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := strings.TrimSuffix(in(test.messages...), "}") + test.more + "}"
			r, history := parse(t, body)
			got := string(r.Amended(history, fold.Amendment{}))
			if test.want == "" {
				assert.Equal(t, body, got)
				return
			}
			require.Contains(t, got, test.want)
			_, again := parse(t, got)
			assert.Equal(t, history[1].Name, again[1].Name)
		})
	}
}
