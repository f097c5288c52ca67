package transcripts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/transcripts"
)

func TestAnswersHaveTheirListPrice(t *testing.T) {
	const million = 1_000_000
	for name, tt := range map[string]struct {
		model string
		usage core.Usage
		usd   float64
		not   int64 // tokens without a price
	}{
		"prompt, answer and cache":       {"gpt-5.1-codex", core.Usage{TokensIn: 100_000, TokensOut: 10_000, CacheRead: 100_000}, 0.125 + 0.1 + 0.0125, 0},
		"written to the cache":           {"gpt-6.1-sol", core.Usage{TokensIn: 10_000, CacheRead: 100_000, CacheWritten: 20_000}, 0.02 + 0.01 + 0.05, 0},
		"a dated name":                   {"gpt-5-mini-2025-08-07", core.Usage{TokensIn: 100_000}, 0.025, 0},
		"the name of a provider":         {"openai/gpt-5.5", core.Usage{TokensIn: 100_000}, 0.5, 0},
		"the longest usual prompt":       {"gpt-5.5", core.Usage{TokensIn: 72_000, TokensOut: 10_000, CacheRead: 200_000}, 0.36 + 0.3 + 0.1, 0},
		"a long prompt, most of it read": {"gpt-5.5", core.Usage{TokensIn: 72_001, TokensOut: 10_000, CacheRead: 200_000}, 2*(0.360005+0.1) + 0.45, 0},
		"Google's longest usual prompt":  {"gemini-2.5-pro", core.Usage{TokensIn: 200_000, TokensOut: 10_000}, 0.25 + 0.1, 0},
		"Google's long prompt":           {"gemini-2.5-pro", core.Usage{TokensIn: 201_000, TokensOut: 10_000}, 2*0.25125 + 0.15, 0},
		"one price for all lengths":      {"gemini-2.5-flash", core.Usage{TokensIn: million, CacheRead: million}, 0.33, 0},
		"a cache without a known price":  {"gemini-2.5-flash-lite", core.Usage{TokensIn: million, CacheRead: 1}, 0.1, 1},
		"the same model without a cache": {"gemini-2.5-flash-lite", core.Usage{TokensIn: million, TokensOut: million}, 0.5, 0},
		"a write that has no price":      {"gpt-5", core.Usage{CacheWritten: 1}, 0, 1},
		"an unknown model":               {"gpt-99", core.Usage{TokensIn: million}, 0, million},
		"a relative of a known model":    {"gpt-5.4-pro", core.Usage{TokensIn: million}, 0, million},
		"a dotted version":               {"anthropic/claude-opus-4.5", core.Usage{TokensIn: million}, 5, 0},
		"a cloud's name":                 {"us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", core.Usage{TokensIn: million}, 3, 0},
		"an older model":                 {"claude-opus-4-1-20250805", core.Usage{TokensIn: million, CacheRead: million}, 16.5, 0},
		"no model":                       {"", core.Usage{TokensIn: million}, 0, million},
	} {
		t.Run(name, func(t *testing.T) {
			priced := transcripts.WithPrice(tt.model, tt.usage)
			assert.InDelta(t, tt.usd, priced.CostUSD, 1e-9)
			assert.Equal(t, tt.not, priced.Unpriced)
			priced.CostUSD, priced.Unpriced = 0, 0
			assert.Equal(t, tt.usage, priced)
		})
	}
	sum := transcripts.PricedSum("gemini-2.5-pro", core.Usage{TokensIn: million})
	assert.InDelta(t, 1.25, sum.CostUSD, 1e-9, "of a sum no prompt is known to be long")
}

func TestAProcessOfGeminiCostsWhatItsModelsDo(t *testing.T) {
	for name, tt := range map[string]struct {
		models string
		usd    float64
	}{
		"two models": {`"gemini-2.5-pro": {"input_tokens": 1000000, "total_tokens": 1100000, "output_tokens": 50000, "cached": 200000},
			"gemini-2.5-flash": {"input_tokens": 1000000, "total_tokens": 1000000}`, 1 + 0.025 + 1 + 0.3},
		"one of them unknown":   {`"gemini-2.5-pro": {"input_tokens": 1000}, "fake": {"input_tokens": 7}`, 0.00125},
		"one that was not used": {`"gemini-2.5-pro": {"input_tokens": 1000000}, "fake": {}`, 1.25},
		"none":                  {``, 0},
	} {
		t.Run(name, func(t *testing.T) {
			log := `{"type":"init","session_id":"s","model":"auto"}` + "\n" +
				strings.ReplaceAll(`{"type":"result","status":"success","stats":{"input_tokens":9,"models":{`+tt.models+`}}}`, "\n", "") + "\n"
			messages, err := collect(samples["gemini/run.ndjson"], log)
			require.NoError(t, err)
			require.NotEmpty(t, messages)
			last := messages[len(messages)-1].Notes
			assert.InDelta(t, tt.usd, last[len(last)-1].Turn.CostUSD, 1e-9)
		})
	}
}
