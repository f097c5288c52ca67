package converge_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/core"
)

// TestAnyOrderGivesTheSameBytes converges random agents in random orders, and
// checks the invariants of every result.
func TestAnyOrderGivesTheSameBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 4))
	for range 200 {
		inputs := randomTeam(random)
		options := converge.Options{Strategy: pick(random, strategies...), Resolution: pick(random, resolutions...), Tolerance: pick(random, 0, 1.0)}
		result, err := converge.Converge(inputs, options)
		random.Shuffle(len(inputs), func(i, j int) { inputs[i], inputs[j] = inputs[j], inputs[i] })
		again, errAgain := converge.Converge(inputs, options)
		require.Equal(t, err, errAgain)
		if err != nil {
			continue
		}
		assert.Equal(t, written(t, result), written(t, again))
		checkResult(t, result)
		checkReview(t, inputs, options, result)
	}
}

// written returns a result in all formats, as it is and read back from JSON.
func written(t *testing.T, r converge.Result) string {
	t.Helper()
	raw, err := r.Render(converge.JSON)
	require.NoError(t, err)
	var back converge.Result
	require.NoError(t, json.Unmarshal(raw, &back))
	var all string
	for _, format := range []converge.Format{converge.JSON, converge.Markdown, converge.DeltaBatch} {
		got, err := r.Render(format)
		require.NoError(t, err)
		kept, err := back.Render(format)
		require.NoError(t, err)
		require.Equal(t, string(got), string(kept), "a stored result renders to the same bytes")
		all += string(got)
	}
	return all
}

func checkResult(t *testing.T, r converge.Result) {
	t.Helper()
	waiting := lo.CountBy(r.Conflicts, func(c converge.Conflict) bool { return !c.Resolved() })
	assert.Equal(t, waiting, r.Unresolved)
	assert.Equal(t, len(r.Conflicts)-waiting, r.Resolved)
	assert.Equal(t, waiting > 0, r.Output == nil)
	for _, c := range r.Conflicts {
		assert.Greater(t, len(c.Sides), 1)
		won := lo.ContainsBy(c.Sides, func(s converge.Side) bool { return s.SubagentID == c.Winner })
		assert.Equal(t, c.Resolved(), won, "the winner is a side")
	}
}

// checkReview chooses a side of each conflict that waits: then there is output.
func checkReview(t *testing.T, inputs []converge.AgentResult, options converge.Options, r converge.Result) {
	t.Helper()
	options.Choices = map[string]string{}
	for _, c := range r.Conflicts {
		if !c.Resolved() {
			options.Choices[c.ID] = c.Sides[len(c.Sides)-1].SubagentID
		}
	}
	reviewed := converged(t, inputs, options)
	assert.Zero(t, reviewed.Unresolved)
	assert.NotNil(t, reviewed.Output)
	assert.ElementsMatch(t, conflictIDs(r), conflictIDs(reviewed))
}

// someLines are lines that answers are made of: of all notations, some of them against others.
var someLines = []string{
	"port: 80", "port: 81", "- retries - 3", "retries = 5", "The port is 80.", "Yes.", "No, never.", "Use Kafka.", "I'd go with NATS.",
	"| name | seats |\n|---|---|\n| a | 1 |\n| b | 2 |", "a: 1", "b: 3", "```\nNAME  READY  SEATS\na     yes    1\nb     no     4\n```",
	"1. a\n2. b\n3. c", "b > a > c", "limit: 10 -> 20", "limit changed from 10 to 30", "MIT (3), ISC (2)", "2 passed, 1 failed",
	"It is in `a/b.go:12`.", "a/b.go:14", "Commit 8f3a91c broke it.", "day,count\nmon,1\ntue,2", `{"port": 80, "a": 2}`, "- [x] a works", "✗ a works",
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// randomTeam returns agents that say much of the same and some of it differently.
func randomTeam(random *rand.Rand) []converge.AgentResult {
	text := func() string {
		return strings.Join(lo.Times(1+random.IntN(4), func(int) string { return pick(random, someLines...) }), "\n\n")
	}
	return lo.Times(2+random.IntN(4), func(i int) converge.AgentResult {
		return converge.AgentResult{
			SubagentID: fmt.Sprintf("a%d", i),
			Outcome:    pick(random, core.AgentCompleted, core.AgentCompleted, core.AgentCompleted, core.AgentError),
			Answer: pick(random, "", "yes", "Yes ", "no", "1", "1.5", `{"v":1,"w":"x"}`, `{"w":"y","v":2.0}`, "so:\n```\n{\"v\":1}\n```",
				text(), text(), text(), text()),
			CompletedAt: core.Millis(random.IntN(3)),
			Confidence:  pick(random, sure(0.5), sure(0.7), sure(0.7), sure(1)),
			Base:        pick(random, "", "c1", "c1", "c2"),
			Claimed:     pick(random, nil, nil, []string{"plan-1"}, []string{"plan-1", "plan-2"}),
			Decisions:   []string{pick(random, "db: a", "DB = a", "db: b", "other")},
			Artifacts:   []converge.Artifact{{Key: pick(random, "p", "q"), Hash: pick(random, "", "1", "2")}},
			Files:       []converge.File{{Path: pick(random, "a", "b"), Base: pick(random, "", "0"), Hash: pick(random, "", "1", "2")}},
		}
	})
}

// FuzzAnswers converges agents whatever they answer.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"a":1e999,"b":-0}`, "x\n```json\n{\"a\":[1.50]}\n```", "tests: pass")
	f.Add("~~~\n[]", `"\ud800"`, "\xff = \x00")
	repeated := func(text string) string { return strings.Repeat(text, 1<<14/len(text)) }
	for _, costly := range []string{
		repeated("word 12 "), repeated("key: 1\n"), repeated("{"), repeated("{ \"a\n"), repeated(`{"a":`), repeated("- a, b and c\n"), repeated("```\n"),
		repeated("`"), repeated("1234567890"), repeated("# a\n"), repeated("a=b=c\n"), repeated("漢字 "), repeated("\x00\xff\x81"),
		strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), "| a | b |\n|---|---|\n" + repeated("| x | 1 |\n"),
		"|" + repeated("a|") + "\n|" + repeated("-|") + "\n|" + repeated("1|"),
		strings.Join(lo.Times(3_000, func(i int) string { return fmt.Sprintf("key %d: %d", i, i) }), "\n"),
	} {
		f.Add(costly, costly+"\nport: 80", "port: 81")
	}
	f.Fuzz(func(t *testing.T, one, other, decision string) {
		inputs := answering(one, other)
		inputs[0].Decisions = []string{decision}
		inputs[1].Decisions = []string{other}
		for _, strategy := range []converge.Strategy{converge.StrategyMerge, converge.StrategyConsensus} {
			options := converge.Options{Strategy: strategy, Tolerance: 0.5}
			result := converged(t, inputs, options)
			written(t, result)
			checkResult(t, result)
			checkReview(t, inputs, options, result)
		}
	})
}
