package main

import (
	"bytes"
	"encoding/json"
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
		var out bytes.Buffer
		require.NoError(t, pairs(file, whole, true, &out))
		var document struct{ Pairs figures }
		require.NoError(t, json.Unmarshal(out.Bytes(), &document))
		got := document.Pairs
		assert.Zero(t, got.Contradictory[agreement], name)
		assert.Zero(t, got.Contradictory[mistaken], name)
		assert.GreaterOrEqual(t, got.Contradictory[found], least, name)
		assert.LessOrEqual(t, got.Harmless[mistaken], 3, name)
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
		var out bytes.Buffer
		assert.ErrorContains(t, pairs(strings.NewReader(text), whole, false, &out), message, text)
		assert.Empty(t, out.String())
	}
}
