package transcripts_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/transcripts"
)

func TestImpossibleNumbersAreNotCounted(t *testing.T) {
	const head = `{"type":"assistant","session_id":"s","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"x"}],"usage":`
	for usage, want := range map[string]int64{
		`{"input_tokens":10,"output_tokens":2}`:                   10,
		`{"input_tokens":9000000000000000000,"output_tokens":2}`:  0,
		`{"input_tokens":-9000000000000000000,"output_tokens":2}`: 0,
	} {
		assert.Equal(t, want, transcripts.ClaudeStream.Reader()([]byte(head+usage+`}}`)).Usage.TokensIn, usage)
	}
	for cost, want := range map[string]float64{"0.5": 0.5, "1e308": 0, "-1e308": 0} {
		m := transcripts.ClaudeStream.Reader()([]byte(`{"type":"result","subtype":"success","session_id":"s","result":"x","usage":{},"total_cost_usd":` + cost + `}`))
		assert.Equal(t, want, m.Notes[0].TreeCostUSD, cost)
	}
}
