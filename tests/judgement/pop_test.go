package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endings returns the scores of each strategy on the ends of turns in a part of a file.
func endings(t *testing.T, name string, which part) map[string]score {
	t.Helper()
	file, err := open("", name)
	require.NoError(t, err)
	defer file.Close()
	cases, err := readTurns(file, which)
	require.NoError(t, err)
	var ends []turn
	for _, c := range cases {
		if c.Point != "prompt" {
			ends = append(ends, c)
		}
	}
	scores := map[string]score{}
	for _, s := range strategies() {
		scores[s.name] = measure(s, ends)
	}
	return scores
}

func TestEndsAreRightAndFoundInAllKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file        string
		which             part
		precision, recall float64
	}{
		{"moments that were tuned on", "turns.jsonl", half(true), 0.9, 0.6},
		{"moments that were not tuned on", "turns.jsonl", half(false), 0.9, 0.6},
		{"ends of other subjects", "endings.jsonl", whole, 0.9, 0.6},
		{"ends by another writer", "others.jsonl", half(false), 0.9, 0.4}, // the goal is 0.9 and 0.6
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := endings(t, tt.file, tt.which)["default"]
			assert.GreaterOrEqual(t, s.pop().precision(), tt.precision)
			assert.GreaterOrEqual(t, s.pop().recall(), tt.recall)
			for _, kind := range pops {
				assert.Positive(t, s.kinds[kind].right, "%s is found", kind)
			}
		})
	}
}

func TestNoUnfinishedFrameIsEndedAsCompletedAtLevelAuto(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"turns.jsonl", "endings.jsonl", "others.jsonl"} {
		for strategy, s := range endings(t, name, whole) {
			if strategy != "always" {
				assert.Zero(t, s.unfinished, "%s by %s", name, strategy)
			}
		}
	}
}
