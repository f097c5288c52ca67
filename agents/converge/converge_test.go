package converge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/core"
	"flame/tests/cases"
)

// answering returns agents a1, a2 … that completed one after the other with these
// answers.
func answering(answers ...string) []converge.AgentResult {
	return lo.Map(answers, func(answer string, i int) converge.AgentResult {
		return converge.AgentResult{
			SubagentID:  fmt.Sprintf("a%d", i+1),
			Outcome:     core.AgentCompleted,
			Answer:      answer,
			CompletedAt: core.Millis(1_000 * (i + 1)),
		}
	})
}

// with returns inputs, each changed by its own function.
func with(inputs []converge.AgentResult, change ...func(*converge.AgentResult)) []converge.AgentResult {
	for i, f := range change {
		f(&inputs[i])
	}
	return inputs
}

func converged(t *testing.T, inputs []converge.AgentResult, options converge.Options) converge.Result {
	t.Helper()
	result, err := converge.Converge(inputs, options)
	require.NoError(t, err)
	return result
}

// conflictIDs returns the ids of conflicts between agents.
func conflictIDs(r converge.Result) []string {
	return lo.Map(r.Conflicts, func(c converge.Conflict, _ int) string { return c.ID })
}

// deltas returns the output on one line a delta.
func deltas(r converge.Result) []string {
	return lo.Map(r.Deltas(), func(d converge.Delta, _ int) string {
		return fmt.Sprintf("%s %s %s %s", d.Source, d.Op, d.Target, d.Value)
	})
}

// A request is one of several agents, and what comes of it.
type request struct {
	Inputs    []json.RawMessage `json:"inputs"` // fields that differ from those of answering
	Options   converge.Options  `json:"options"`
	Strategy  converge.Strategy `json:"strategy"`
	Conflicts []string          `json:"conflicts"`
	Says      string            `json:"says"`
}

func (r request) inputs(t *testing.T) []converge.AgentResult {
	t.Helper()
	inputs := answering(make([]string, len(r.Inputs))...)
	for i, raw := range r.Inputs {
		require.NoError(t, json.Unmarshal(raw, &inputs[i]))
	}
	return inputs
}

func TestMergeFindsConflicts(t *testing.T) {
	for name, tt := range cases.Read[request](t, "testdata/merge.yaml") {
		result := converged(t, tt.inputs(t), converge.Options{Strategy: converge.StrategyMerge})
		assert.ElementsMatch(t, tt.Conflicts, conflictIDs(result), name)
		assert.Equal(t, len(tt.Conflicts), result.Unresolved, name)
		assert.Equal(t, len(tt.Conflicts) > 0, result.Output == nil, "%s: there is an output exactly if no conflict waits", name)
	}
}

func TestMergeNamesTheSideThatBuiltOnAnother(t *testing.T) {
	result := converged(t, with(answering("", ""),
		func(in *converge.AgentResult) { in.Files = []converge.File{{Path: "a.go", Base: "0", Hash: "1"}} },
		func(in *converge.AgentResult) { in.Files = []converge.File{{Path: "a.go", Base: "1", Hash: "2"}} },
	), converge.Options{Strategy: converge.StrategyMerge})
	assert.Equal(t, "a1 against a2; a2 began from what a1 left", result.Conflicts[0].Rationale)
}

func TestMergeWithSchemaComparesWhatItDeclares(t *testing.T) {
	result := converged(t, answering(`{"v":{"a":1,"note":"x"},"free":1}`, `{"v":{"a":1,"note":"y"},"free":2}`), converge.Options{
		Strategy: converge.StrategyMerge,
		Schema:   json.RawMessage(`{"properties":{"v":{"properties":{"a":{"type":"number"}}}}}`),
	})
	assert.Equal(t, []string{
		`a1 replace outcome "completed"`,
		`a1 add finding:free 1`,
		`a2 add finding:free 2`,
		`a1 replace finding:v.a 1`,
		`a1 add finding:v.note "x"`,
		`a2 add finding:v.note "y"`,
	}, deltas(result), "what is not declared is kept of each")
}

func TestVote(t *testing.T) {
	for name, tt := range cases.Read[struct {
		Answers   []string `json:"answers"`
		Tolerance float64  `json:"tolerance"`
		Answer    string   `json:"answer"` // of the winner; empty for a tie
		Source    string   `json:"source"`
	}](t, "testdata/vote.yaml") {
		t.Run(name, func(t *testing.T) {
			result := converged(t, answering(tt.Answers...), converge.Options{Strategy: converge.StrategyVote, Tolerance: tt.Tolerance})
			if tt.Answer == "" {
				assert.Nil(t, result.Output)
				assert.Equal(t, 1, result.Unresolved)
				assert.Contains(t, result.Conflicts[0].Rationale, "a tie of")
				return
			}
			answer := result.Output["answer"][0]
			assert.Equal(t, tt.Answer, string(answer.Value))
			assert.Equal(t, tt.Source, answer.Source)
			assert.Len(t, result.Ignored, len(tt.Answers)-1, "every other voter is listed as ignored")
		})
	}
}

func TestVoteIgnoresAgentsThatDidNotComplete(t *testing.T) {
	inputs := answering("no", "no", "yes", "yes", "yes", " ")
	inputs[0].Outcome, inputs[1].Outcome = core.AgentError, core.AgentCancelled
	result := converged(t, inputs, converge.Options{Strategy: converge.StrategyVote})
	assert.Equal(t, `"yes"`, string(result.Output["answer"][0].Value))
	assert.Empty(t, result.Conflicts, "an abstention contradicts no answer")
	assert.Len(t, result.Ignored, 5)
}

func TestConsensus(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"v":{"items":{"properties":{"a":true}}},"p":{}}}`)
	for name, tt := range cases.Read[struct {
		Answers   []string `json:"answers"`
		Tolerance float64  `json:"tolerance"`
		Agreed    bool     `json:"agreed"`
	}](t, "testdata/consensus.yaml") {
		t.Run(name, func(t *testing.T) {
			result := converged(t, answering(tt.Answers...), converge.Options{
				Strategy: converge.StrategyConsensus, Resolution: converge.AutoAcceptLatest, Tolerance: tt.Tolerance, Schema: schema,
			})
			if tt.Agreed {
				assert.Empty(t, result.Conflicts)
				assert.NotNil(t, result.Output)
				return
			}
			assert.Equal(t, []string{"answer:answer"}, conflictIDs(result))
			assert.Nil(t, result.Output, "the latest answer does not win a consensus")
			assert.Contains(t, result.Rationale, "rejected")
			assert.Len(t, result.Conflicts[0].Sides, len(tt.Answers), "the dissent is listed")
		})
	}
}

func TestFirstSuccess(t *testing.T) {
	inputs := answering("failed", "late", "first", "still at it")
	inputs[0].Outcome, inputs[3].Outcome = core.AgentError, "active"
	inputs[1].CompletedAt = 9_000
	result := converged(t, inputs, converge.Options{Strategy: converge.StrategyFirstSuccess})
	assert.Equal(t, []string{`a3 replace outcome "completed"`, `a3 replace answer "first"`}, deltas(result))
	assert.Equal(t, []string{"error", "completed", "active"},
		lo.Map(result.Ignored, func(i converge.ExcludedAgent, _ int) string { return string(i.Outcome) }))
	assert.Equal(t, "late", result.Ignored[1].Excerpt)
}

func TestAutomaticResolutions(t *testing.T) {
	sides := func() []converge.AgentResult {
		return with(answering(`{"v":1}`, `{"v":2}`, `{"v":2}`),
			func(in *converge.AgentResult) { in.Confidence = sure(0.9) },
			func(in *converge.AgentResult) { in.Confidence = sure(0.5) },
			func(in *converge.AgentResult) { in.Confidence = sure(0.5) })
	}
	tests := map[string]struct {
		how    converge.Resolution
		change func([]converge.AgentResult)
		winner string
	}{
		"the latest wins":                           {converge.AutoAcceptLatest, func([]converge.AgentResult) {}, "a3"},
		"the latest two of one value win":           {converge.AutoAcceptLatest, func(in []converge.AgentResult) { in[1].CompletedAt = 3_000 }, "a2"},
		"the latest two of two values wait":         {converge.AutoAcceptLatest, func(in []converge.AgentResult) { in[0].CompletedAt = 3_000 }, ""},
		"the most confident wins":                   {converge.PreferHigherConfidence, func([]converge.AgentResult) {}, "a1"},
		"the most confident two of one value win":   {converge.PreferHigherConfidence, func(in []converge.AgentResult) { in[0].Confidence = sure(0) }, "a2"},
		"the most confident two of two values wait": {converge.PreferHigherConfidence, func(in []converge.AgentResult) { in[1].Confidence = sure(0.9) }, ""},
		"the confidence of who takes no side does not count": {
			converge.PreferHigherConfidence, func(in []converge.AgentResult) { in[2].Answer, in[2].Confidence = "x", nil }, "a1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inputs := sides()
			tt.change(inputs)
			result := converged(t, inputs, converge.Options{Strategy: converge.StrategyMerge, Resolution: tt.how})
			conflict := result.Conflicts[0]
			assert.Equal(t, tt.winner, conflict.Winner)
			assert.Equal(t, tt.winner == "", result.Output == nil)
			if tt.winner != "" {
				assert.Equal(t, tt.how, conflict.Resolution)
				assert.Equal(t, tt.winner, result.Output["finding"][0].Source)
			}
		})
	}
}

func TestReviewSettlesConflicts(t *testing.T) {
	options := converge.Options{Strategy: converge.StrategyMerge}
	inputs := answering(`{"v":1,"w":1}`, `{"v":2,"w":2}`)
	waiting := converged(t, inputs, options)
	require.Equal(t, []string{"answer:v", "answer:w"}, conflictIDs(waiting))

	options.Choices = map[string]string{"answer:v": "a2"}
	half := converged(t, inputs, options)
	assert.Nil(t, half.Output, "one conflict still waits")
	assert.Equal(t, []int{1, 1}, []int{half.Resolved, half.Unresolved})

	options.Choices["answer:w"] = "a1"
	done := converged(t, inputs, options)
	assert.Equal(t, []string{`a1 replace outcome "completed"`, "a2 replace finding:v 2", "a1 replace finding:w 1"}, deltas(done))
	assert.Equal(t, converge.ByReview, done.Conflicts[0].Resolution)
	assert.Len(t, done.Conflicts[0].Sides, 2, "the side that lost is kept")
}

func TestReviewTakesPrecedenceOverVoteAndConsensus(t *testing.T) {
	for _, strategy := range []converge.Strategy{converge.StrategyVote, converge.StrategyConsensus} {
		result := converged(t, answering("no", "yes", "yes"), converge.Options{
			Strategy: strategy, Choices: map[string]string{"answer:answer": "a1"},
		})
		assert.Equal(t, `"no"`, string(result.Output["answer"][0].Value), strategy)
	}
}

func TestSidesShowTheBeginningOfLongValues(t *testing.T) {
	long := strings.Repeat("ö", converge.MaxExcerpt)
	result := converged(t, answering(long, long+"x", "short"), converge.Options{Strategy: converge.StrategyVote})
	sides := result.Conflicts[0].Sides
	assert.Equal(t, long, sides[0].Excerpt)
	assert.Equal(t, strings.Repeat("ö", converge.MaxExcerpt-1)+"…", sides[1].Excerpt)
	assert.NotEqual(t, sides[0].ValueHash, sides[1].ValueHash)
}

func TestConvergeRefuses(t *testing.T) {
	for name, tt := range cases.Read[request](t, "testdata/refused.yaml") {
		_, err := converge.Converge(tt.inputs(t), tt.Options)
		var problem *core.Problem
		require.ErrorAs(t, err, &problem, name)
		assert.ErrorIs(t, err, core.ErrInvalid)
		assert.Contains(t, problem.Message, tt.Says, name)
	}
	_, err := converge.Converge(answering("a", "b"), converge.Options{Strategy: converge.StrategyMerge, Tolerance: math.NaN()})
	assert.ErrorContains(t, err, "tolerance NaN is not a distance")
	_, err = converge.Converge(with(answering("a", "b"), func(in *converge.AgentResult) { in.Confidence = sure(math.NaN()) }),
		converge.Options{Strategy: converge.StrategyMerge})
	assert.ErrorContains(t, err, "the confidence of a1 is not a number from 0 to 1")
}

func TestRenderRefusesUnknownFormats(t *testing.T) {
	result := converged(t, team(t), converge.Options{Strategy: converge.StrategyMerge, Format: converge.Markdown})
	_, err := result.Render("xml")
	assert.ErrorIs(t, err, core.ErrInvalid)
	asked, err := result.Render("")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(asked), "# Converged"), "an empty format means the format of the options")
}

func TestResultsNameAnswersThatWereNotCompared(t *testing.T) {
	for name, tt := range cases.Read[request](t, "testdata/uncompared.yaml") {
		result := converged(t, tt.inputs(t), converge.Options{Strategy: tt.Strategy})
		assert.True(t, strings.HasSuffix(result.Rationale, tt.Says), "%s: %s", name, result.Rationale)
	}
}

func TestADeltaOfAFileDescribesItsChange(t *testing.T) {
	inputs := answering("done", "done")
	inputs[0].Files = []converge.File{{Path: "a.go", Hash: "h1", Excerpt: "+package a"}}
	result := converged(t, inputs, converge.Options{Strategy: converge.StrategyMerge})
	assert.Contains(t, deltas(result), `a1 add file:a.go {"hash":"h1","text":"+package a"}`)
	page, err := result.Render(converge.Markdown)
	require.NoError(t, err)
	assert.Contains(t, string(page), "+package a")
	assert.NotContains(t, string(page), "completed", "the page does not mention that all completed")
	assert.NotContains(t, string(page), "replace by")
}
