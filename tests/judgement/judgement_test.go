package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoContradictionIsReportedAsAgreement also bounds what structure finds: the figures of
// docs/agents.md.
func TestNoContradictionIsReportedAsAgreement(t *testing.T) {
	for name, least := range map[string]int{"pairs.jsonl": 25, "other_pairs.jsonl": 11} {
		file, err := open("", name)
		require.NoError(t, err)
		defer file.Close()
		got, err := compared(file, whole)
		require.NoError(t, err)
		assert.Zero(t, got.contradictory[agreement], name)
		assert.Zero(t, got.contradictory[mistaken], name)
		assert.GreaterOrEqual(t, got.contradictory[found], least, name)
		assert.LessOrEqual(t, got.harmless[mistaken], 3, name)
	}
}

func TestBadPairsAreRefused(t *testing.T) {
	for text, message := range map[string]string{
		"":                                      "the file is empty",
		"\n\n":                                  "the file is empty",
		"no JSON":                               "line 1: invalid character",
		`{"id":"t-1","point":"prompt"}`:         `pair t-1 expects ""`,
		`{"id":"a-1","expected":{"push":true}}`: "line 1: json: cannot unmarshal",
		`{"expected":"agree"}`:                  "it has no id",
		`{"id":"a-1","expected":"contradict"}`:  "pair a-1 lists no contradictions",
		`{"id":"a-1","expected":"agree"}`:       "pair a-1 lacks an answer",
	} {
		_, err := readPairs(strings.NewReader(text), whole)
		assert.ErrorContains(t, err, message, text)
	}
}

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
