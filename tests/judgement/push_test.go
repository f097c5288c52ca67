package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// pushes measures the pushes of a strategy on a part of a file of labelled moments.
func pushes(t *testing.T, name string, which part, judge func(turn) (verdict, bool)) count {
	t.Helper()
	file, err := open("", name)
	require.NoError(t, err)
	defer file.Close()
	cases, err := readTurns(file, which)
	require.NoError(t, err)
	var prompts []turn
	for _, c := range cases {
		if c.Point == "prompt" {
			prompts = append(prompts, c)
		}
	}
	return measure(strategy{name, judge}, prompts).kinds[push]
}

func TestPushesAreRightAndFoundOnUntunedCases(t *testing.T) {
	t.Parallel()
	recall := map[string]float64{"turns.jsonl": 0.6, "prompts.jsonl": 0.6, "others.jsonl": 0.45} // the goal is 0.6
	for name, least := range recall {
		for half, which := range map[string]part{"tuned on": half(true), "not tuned on": half(false)} {
			c := pushes(t, name, which, by(core.DefaultAutonomyConfig().Strategy))
			t.Logf("%s, %s: %s", name, half, c)
			assert.GreaterOrEqual(t, c.precision(), 0.9, "%s, %s: %s", name, half, c)
			assert.GreaterOrEqual(t, c.recall(), least, "%s, %s: %s", name, half, c)
		}
	}
}

// A rule on the length alone looks good on labelled prompts, because prompts that push are longer.
// The judgement must be better than the best such rule.
func TestTheLengthAloneIsWorseThanTheJudgement(t *testing.T) {
	t.Parallel()
	judged := pushes(t, "prompts.jsonl", whole, by(core.DefaultAutonomyConfig().Strategy))
	for _, least := range []int{20, 40, 60, 80, 100, 120, 160} {
		c := pushes(t, "prompts.jsonl", whole, func(t turn) (verdict, bool) {
			if len(t.Prompt) >= least {
				return push, false
			}
			return nothing, false
		})
		t.Logf("at least %d characters: %s", least, c)
		assert.False(t, c.precision() >= judged.precision() || c.precision() >= 0.9 && c.recall() >= 0.6, "at least %d characters: %s", least, c)
	}
}
