package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/tests/cases"
)

func TestTheWindowOfAModelIsKnownByItsName(t *testing.T) {
	t.Parallel()
	for name, tt := range cases.Read[struct {
		Model  string
		Tokens int
	}](t, "testdata/windows.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens, known := core.ModelWindow(tt.Model)
			assert.True(t, known)
			assert.Equal(t, tt.Tokens, tokens)
		})
	}
	for _, model := range []string{"", "scripted", "gpt-50", "o365", "/", "claude-opus-9"} {
		_, known := core.ModelWindow(model)
		assert.False(t, known, model)
	}
}
