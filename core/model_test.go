package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestTheWindowOfAModelIsKnownByItsName(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model  string
		tokens int
	}{
		"a name alone":                        {"claude-opus-5-5", 1_000_000},
		"a name with a provider":              {"anthropic/claude-haiku-4-5", 200_000},
		"a name as a cloud has it":            {"us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000},
		"a name with a date after an at sign": {"claude-3-7-sonnet@20250219", 200_000},
		"a smaller model of a generation":     {"claude-sonnet-4-6", 1_000_000},
		"a mark for a longer window":          {"claude-sonnet-4-5[1m]", 1_000_000},
		"a model of another maker":            {"openai/gpt-5-codex", 400_000},
		"a name in capitals":                  {"Gemini-2.5-Pro", 1_048_576},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens, known := core.ModelWindow(tt.model)
			assert.True(t, known)
			assert.Equal(t, tt.tokens, tokens)
		})
	}
	for _, model := range []string{"", "scripted", "gpt-50", "o365", "/", "claude-opus-9"} {
		_, known := core.ModelWindow(model)
		assert.False(t, known, model)
	}
}
