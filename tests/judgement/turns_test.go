package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSuggestionsAreRight bounds the figures of the halves that were not used to choose words. flame
// rather says nothing than something wrong, so recall only has to be there at all.
func TestSuggestionsAreRight(t *testing.T) {
	var pushes, ends count
	for _, name := range []string{"turns.jsonl", "prompts.jsonl", "endings.jsonl", "others.jsonl"} {
		file, err := open("", name)
		require.NoError(t, err)
		defer file.Close()
		cases, err := readTurns(file, half(false))
		require.NoError(t, err)
		got := measure(strategies[0], cases)
		assert.Zero(t, got.unfinished, "%s: no unfinished frame is ended at level auto", name)
		pushes.add(got.kinds[push])
		ends.add(got.pop())
	}
	assert.GreaterOrEqual(t, pushes.precision(), 0.9, pushes.String())
	assert.GreaterOrEqual(t, pushes.recall(), 0.2, pushes.String())
	assert.GreaterOrEqual(t, ends.precision(), 0.9, ends.String())
	assert.Positive(t, ends.right, ends.String())
}
