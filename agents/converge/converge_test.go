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
)

// answering returns agents a1, a2 … that completed one after the other with these
// answers.
func answering(answers ...string) []converge.Input {
	return lo.Map(answers, func(answer string, i int) converge.Input {
		return converge.Input{
			SubagentID:  fmt.Sprintf("a%d", i+1),
			Outcome:     core.AgentCompleted,
			Answer:      answer,
			CompletedAt: core.Millis(1_000 * (i + 1)),
		}
	})
}

// with returns inputs, each changed by its own function.
func with(inputs []converge.Input, change ...func(*converge.Input)) []converge.Input {
	for i, f := range change {
		f(&inputs[i])
	}
	return inputs
}

func converged(t *testing.T, inputs []converge.Input, options converge.Options) converge.Result {
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

func TestMergeFindsConflicts(t *testing.T) {
	t.Parallel()
	file := func(path, base, hash string) func(*converge.Input) {
		return func(in *converge.Input) {
			in.Files = append(in.Files, converge.File{Path: path, Base: base, Hash: hash})
		}
	}
	artifact := func(key, hash string) func(*converge.Input) {
		return func(in *converge.Input) { in.Artifacts = append(in.Artifacts, converge.Artifact{Key: key, Hash: hash}) }
	}
	decisions := func(texts ...string) func(*converge.Input) {
		return func(in *converge.Input) { in.Decisions = texts }
	}
	outcome := func(state core.AgentState) func(*converge.Input) {
		return func(in *converge.Input) { in.Outcome = state }
	}
	answer := func(text string) func(*converge.Input) {
		return func(in *converge.Input) { in.Answer = text }
	}
	tests := map[string]struct {
		one, other func(*converge.Input)
		conflicts  []string
	}{
		"other files do not conflict":                  {file("a.go", "0", "1"), file("b.go", "0", "2"), nil},
		"a file left alike does not conflict":          {file("a.go", "0", "1"), file("./a.go", "9", "1"), nil},
		"a file left differently conflicts":            {file("a.go", "0", "1"), file("a.go", "0", "2"), []string{"file:a.go"}},
		"a file built on the other's conflicts":        {file("a.go", "0", "1"), file("a.go", "1", "2"), []string{"file:a.go"}},
		"a file changed and deleted conflicts":         {file("a.go", "0", "1"), file("a.go", "0", ""), []string{"file:a.go"}},
		"a file deleted twice does not conflict":       {file("a.go", "0", ""), file("a.go", "0", ""), nil},
		"a file put back is not changed":               {file("a.go", "0", "1"), file("a.go", "0", "0"), nil},
		"artifacts of one hash do not conflict":        {artifact("plan", "1"), artifact("plan", "1"), nil},
		"artifacts of two hashes conflict":             {artifact("plan", "1"), artifact("plan", "2"), []string{"artifact:plan"}},
		"decisions in other words do not conflict":     {decisions("use SQLite"), decisions("use PostgreSQL"), nil},
		"decisions of one key conflict":                {decisions("DB: SQLite"), decisions("db = PostgreSQL"), []string{"decision:db"}},
		"decisions alike but for case do not conflict": {decisions("DB:  SQLite"), decisions("db = sqlite "), nil},
		"the last decision of an agent holds":          {decisions("db: sqlite", "db: postgres"), decisions("db: postgres"), nil},
		"a colon without a blank is no key":            {decisions("see http://a"), decisions("see http://b"), nil},
		"an end and a failure conflict":                {outcome(core.AgentCompleted), outcome(core.AgentTimeout), []string{"status:outcome"}},
		"two failures do not conflict":                 {outcome(core.AgentError), outcome(core.AgentOrphaned), nil},
		"one planned frame taken twice conflicts": {
			func(in *converge.Input) { in.Claimed = []string{"plan-1"} }, func(in *converge.Input) { in.Claimed = []string{"plan-1"} },
			[]string{"scope:plan-1"},
		},
		"two bases conflict": {
			func(in *converge.Input) { in.Base = "c1" }, func(in *converge.Input) { in.Base = "c2" }, []string{"stale:base"},
		},
		"an agent outside git has no base":              {func(in *converge.Input) { in.Base = "c1" }, func(in *converge.Input) {}, nil},
		"texts stand beside each other":                 {answer("done"), answer("fine"), nil},
		"fields that differ conflict":                   {answer(`{"a":1,"b":1}`), answer(`{"a":2,"b":1.0}`), []string{"answer:a"}},
		"fields in a fenced block are read":             {answer("So:\n```json\n{\"a\":1}\n```"), answer(`{"a":2}`), []string{"answer:a"}},
		"neighbours that a float cannot tell conflict":  {answer(`{"a":9007199254740993}`), answer(`{"a":9007199254740992}`), []string{"answer:a"}},
		"text in JSON is compared whatever its case":    {answer(`{"a":"Yes"}`), answer(`{"a":"yes"}`), nil},
		"objects are compared whatever their order":     {answer(`{"a":{"x":1,"y":[true,null]}}`), answer(`{"a":{"y":[true,null],"x":1}}`), nil},
		"lists are compared whatever their order":       {answer(`{"a":[1,2]}`), answer(`{"a":[2,1]}`), nil},
		"lists of other members conflict":               {answer(`{"a":[1,2]}`), answer(`{"a":[1,3]}`), []string{"answer:a"}},
		"a value and a list of it do not conflict":      {answer(`{"a":1}`), answer(`{"a":[1]}`), nil},
		"a missing property of a nested object is kept": {answer(`{"a":{"x":1}}`), answer(`{"a":{"x":1,"y":1}}`), nil},
		"a property of a nested object conflicts":       {answer(`{"a":{"x":1}}`), answer(`{"a":{"x":2,"y":1}}`), []string{"answer:a.x"}},
		"words in JSON stand beside each other": {
			answer(`{"a":"it waits for the lock to be given back"}`), answer(`{"a":"nobody ever wakes the second reader up"}`), nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := converged(t, with(answering("", ""), tt.one, tt.other), converge.Options{Strategy: converge.StrategyMerge})
			assert.ElementsMatch(t, tt.conflicts, conflictIDs(result))
			assert.Equal(t, len(tt.conflicts), result.Unresolved)
			assert.Equal(t, len(tt.conflicts) > 0, result.Output == nil, "there is an output exactly if no conflict waits")
		})
	}
}

func TestMergeNamesTheSideThatBuiltOnAnother(t *testing.T) {
	t.Parallel()
	result := converged(t, with(answering("", ""),
		func(in *converge.Input) { in.Files = []converge.File{{Path: "a.go", Base: "0", Hash: "1"}} },
		func(in *converge.Input) { in.Files = []converge.File{{Path: "a.go", Base: "1", Hash: "2"}} },
	), converge.Options{Strategy: converge.StrategyMerge})
	assert.Equal(t, "a1 against a2; a2 began from what a1 left", result.Conflicts[0].Rationale)
}

func TestMergeWithSchemaComparesWhatItDeclares(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	tests := map[string]struct {
		answers   []string
		tolerance float64
		answer    string // of the winner; empty for a tie
		source    string
	}{
		"all say the same":                        {[]string{"Yes", " yes", "YES"}, 0, `"Yes"`, "a1"},
		"most say the same":                       {[]string{"no", "Yes", "yes"}, 0, `"Yes"`, "a2"},
		"a text and a JSON string are alike":      {[]string{"no", "Yes", `"yes"`}, 0, `"Yes"`, "a2"},
		"the larger class need not be a majority": {[]string{"a", "b", "c", "d", "d"}, 0, `"d"`, "a4"},
		"no agents agree":                         {[]string{"a", "b", "c"}, 0, "", ""},
		"two and two":                             {[]string{"a", "b", "b", "a"}, 0, "", ""},
		"numbers differ":                          {[]string{"1.0", "1.1", "1.2"}, 0, "", ""},
		"numbers are near the middle one":         {[]string{"1.0", "1.1", "1.2"}, 0.1, "1.1", "a2"},
		"numbers are one in two ways of writing":  {[]string{"2", "1e0", "1.0"}, 0, "1", "a2"},
		"two middles are a tie":                   {[]string{"1.0", "1.1", "1.2", "1.3"}, 0.1, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := converged(t, answering(tt.answers...), converge.Options{Strategy: converge.StrategyVote, Tolerance: tt.tolerance})
			if tt.answer == "" {
				assert.Nil(t, result.Output)
				assert.Equal(t, 1, result.Unresolved)
				assert.Contains(t, result.Conflicts[0].Rationale, "a tie of")
				return
			}
			answer := result.Output["answer"][0]
			assert.Equal(t, tt.answer, string(answer.Value))
			assert.Equal(t, tt.source, answer.Source)
			assert.Len(t, result.Ignored, len(tt.answers)-1, "every other voter is listed as ignored")
		})
	}
}

func TestVoteIgnoresAgentsThatDidNotComplete(t *testing.T) {
	t.Parallel()
	inputs := answering("no", "no", "yes", "yes", "yes", " ")
	inputs[0].Outcome, inputs[1].Outcome = core.AgentError, core.AgentCancelled
	result := converged(t, inputs, converge.Options{Strategy: converge.StrategyVote})
	assert.Equal(t, `"yes"`, string(result.Output["answer"][0].Value))
	assert.Empty(t, result.Conflicts, "an abstention contradicts no answer")
	assert.Len(t, result.Ignored, 5)
}

func TestConsensus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answers   []string
		tolerance float64
		agreed    bool
	}{
		"all agree":                        {[]string{"Yes", "yes"}, 0, true},
		"one disagrees":                    {[]string{"yes", "yes", "no"}, 0, false},
		"one has no answer":                {[]string{"yes", ""}, 0, false},
		"numbers within the tolerance":     {[]string{`{"p":0.90}`, `{"p":1.0}`}, 0.1, true},
		"numbers in words":                 {[]string{"The answer is 42.", "the answer is 43."}, 2, true},
		"numbers in words, too far":        {[]string{"The answer is 42", "The answer is 45"}, 2, false},
		"numbers in words, exactly":        {[]string{"The answer is 42", "The answer is 43"}, 0, false},
		"other words about a number":       {[]string{"The answer is 42", "The answer was 42"}, 2, false},
		"numbers beyond the tolerance":     {[]string{`{"p":0.90}`, `{"p":1.01}`}, 0.1, false},
		"numbers near, but not all of all": {[]string{"1.1", "1.0", "1.2"}, 0.1, false},
		"declared properties agree":        {[]string{`{"v":1,"note":"x"}`, `{"v":1,"note":"y"}`}, 0, true},
		"declared properties of lists":     {[]string{`{"v":[{"a":1,"b":1}]}`, `{"v":[{"a":1,"b":2}]}`}, 0, true},
		"a declared property is missing":   {[]string{`{"v":1}`, `{}`}, 0, false},
	}
	schema := json.RawMessage(`{"properties":{"v":{"items":{"properties":{"a":true}}},"p":{}}}`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := converged(t, answering(tt.answers...), converge.Options{
				Strategy: converge.StrategyConsensus, Resolution: converge.AutoAcceptLatest, Tolerance: tt.tolerance, Schema: schema,
			})
			if tt.agreed {
				assert.Empty(t, result.Conflicts)
				assert.NotNil(t, result.Output)
				return
			}
			assert.Equal(t, []string{"answer:answer"}, conflictIDs(result))
			assert.Nil(t, result.Output, "the latest answer does not win a consensus")
			assert.Contains(t, result.Rationale, "rejected")
			assert.Len(t, result.Conflicts[0].Sides, len(tt.answers), "the dissent is listed")
		})
	}
}

func TestFirstSuccess(t *testing.T) {
	t.Parallel()
	inputs := answering("failed", "late", "first", "still at it")
	inputs[0].Outcome, inputs[3].Outcome = core.AgentError, "active"
	inputs[1].CompletedAt = 9_000
	result := converged(t, inputs, converge.Options{Strategy: converge.StrategyFirstSuccess})
	assert.Equal(t, []string{`a3 replace outcome "completed"`, `a3 replace answer "first"`}, deltas(result))
	assert.Equal(t, []string{"error", "completed", "active"},
		lo.Map(result.Ignored, func(i converge.Ignored, _ int) string { return string(i.Outcome) }))
	assert.Equal(t, "late", result.Ignored[1].Excerpt)
}

func TestAutomaticResolutions(t *testing.T) {
	t.Parallel()
	sides := func() []converge.Input {
		return with(answering(`{"v":1}`, `{"v":2}`, `{"v":2}`),
			func(in *converge.Input) { in.Confidence = sure(0.9) },
			func(in *converge.Input) { in.Confidence = sure(0.5) },
			func(in *converge.Input) { in.Confidence = sure(0.5) })
	}
	tests := map[string]struct {
		how    converge.Resolution
		change func([]converge.Input)
		winner string
	}{
		"the latest wins":                           {converge.AutoAcceptLatest, func([]converge.Input) {}, "a3"},
		"the latest two of one value win":           {converge.AutoAcceptLatest, func(in []converge.Input) { in[1].CompletedAt = 3_000 }, "a2"},
		"the latest two of two values wait":         {converge.AutoAcceptLatest, func(in []converge.Input) { in[0].CompletedAt = 3_000 }, ""},
		"the most confident wins":                   {converge.PreferHigherConfidence, func([]converge.Input) {}, "a1"},
		"the most confident two of one value win":   {converge.PreferHigherConfidence, func(in []converge.Input) { in[0].Confidence = sure(0) }, "a2"},
		"the most confident two of two values wait": {converge.PreferHigherConfidence, func(in []converge.Input) { in[1].Confidence = sure(0.9) }, ""},
		"the confidence of who takes no side does not count": {
			converge.PreferHigherConfidence, func(in []converge.Input) { in[2].Answer, in[2].Confidence = "x", nil }, "a1",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	for _, strategy := range []converge.Strategy{converge.StrategyVote, converge.StrategyConsensus} {
		result := converged(t, answering("no", "yes", "yes"), converge.Options{
			Strategy: strategy, Choices: map[string]string{"answer:answer": "a1"},
		})
		assert.Equal(t, `"no"`, string(result.Output["answer"][0].Value), strategy)
	}
}

func TestSidesShowTheBeginningOfLongValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ö", converge.MaxExcerpt)
	result := converged(t, answering(long, long+"x", "short"), converge.Options{Strategy: converge.StrategyVote})
	sides := result.Conflicts[0].Sides
	assert.Equal(t, long, sides[0].Excerpt)
	assert.Equal(t, strings.Repeat("ö", converge.MaxExcerpt-1)+"…", sides[1].Excerpt)
	assert.NotEqual(t, sides[0].ValueHash, sides[1].ValueHash)
}

func TestConvergeRefuses(t *testing.T) {
	t.Parallel()
	merge := converge.Options{Strategy: converge.StrategyMerge}
	three := func(change func([]converge.Input)) []converge.Input {
		inputs := answering("a", "b", "c")
		change(inputs)
		return inputs
	}
	unchanged := three(func([]converge.Input) {})
	tests := map[string]struct {
		inputs  []converge.Input
		options converge.Options
		message string
	}{
		"no strategy":         {unchanged, converge.Options{}, "strategy is missing"},
		"an unknown strategy": {unchanged, converge.Options{Strategy: "best"}, `strategy "best" does not exist`},
		"an unknown resolution": {unchanged, converge.Options{Strategy: "merge", Resolution: "guess"},
			`conflict_resolution "guess" does not exist`},
		"an unknown format": {unchanged, converge.Options{Strategy: "merge", Format: "xml"}, `output_format "xml" does not exist`},
		"a negative tolerance": {unchanged, converge.Options{Strategy: "merge", Tolerance: -1},
			"tolerance -1 is not a distance"},
		"a tolerance that is no number": {unchanged, converge.Options{Strategy: "merge", Tolerance: math.NaN()},
			"tolerance NaN is not a distance"},
		"a schema that is no object": {unchanged, converge.Options{Strategy: "merge", Schema: json.RawMessage(`[]`)},
			"result_schema is not a JSON object"},
		"a schema that is no schema": {unchanged, converge.Options{Strategy: "merge", Schema: json.RawMessage(`{"properties":[1]}`)},
			"result_schema cannot be read"},
		"a single agent":      {answering("a"), merge, "converge needs at least 2 agents, not 1"},
		"an agent twice":      {three(func(in []converge.Input) { in[2].SubagentID = "a1" }), merge, "named twice: a1"},
		"an agent without id": {three(func(in []converge.Input) { in[2].SubagentID = "" }), merge, "an agent has no subagent_id"},
		"two trees": {three(func(in []converge.Input) { in[0].Tree, in[1].Tree, in[2].Tree = "f1", "f2", "f1" }), merge,
			"the agents are not in one tree of frames (f1: a1, a3; f2: a2)"},
		"a confidence above one": {three(func(in []converge.Input) { in[0].Confidence, in[1].Confidence = sure(1.01), sure(-0.1) }), merge,
			"the confidence of a1, a2 is not a number from 0 to 1"},
		"a confidence that is no number": {three(func(in []converge.Input) { in[0].Confidence = sure(math.NaN()) }), merge,
			"the confidence of a1 is not a number from 0 to 1"},
		"merge of an agent at work": {three(func(in []converge.Input) { in[1].Outcome = "suspended" }), merge,
			"merge needs agents that have ended; still at work: a2 (suspended)"},
		"a vote of two": {answering("a", "b"), converge.Options{Strategy: converge.StrategyVote},
			"vote needs at least 3 agents that completed with an answer, not 2"},
		"a vote of two and a failure": {three(func(in []converge.Input) { in[1].Outcome = core.AgentError }), converge.Options{Strategy: converge.StrategyVote},
			"vote needs at least 3 agents that completed with an answer, not 2; without one: a2 (error)"},
		"first_success without success": {three(func(in []converge.Input) { in[0].Outcome, in[1].Outcome, in[2].Outcome = "error", "active", "timeout" }),
			converge.Options{Strategy: converge.StrategyFirstSuccess},
			"first_success needs an agent that completed: a1 (error), a2 (active), a3 (timeout)"},
		"prefer_higher_confidence without one": {answering(`{"v":1}`, `{"v":2}`), converge.Options{Strategy: "merge", Resolution: converge.PreferHigherConfidence},
			"prefer_higher_confidence needs a confidence from every side; none from a1, a2"},
		"a choice for no conflict": {answering(`{"v":1}`, `{"v":2}`), converge.Options{Strategy: "merge", Choices: map[string]string{"file:x": "a1"}},
			`there is no conflict "file:x"`},
		"a choice of no side": {answering(`{"v":1}`, `{"v":2}`), converge.Options{Strategy: "merge", Choices: map[string]string{"answer:v": "a3"}},
			`a3 is not a side of conflict "answer:v"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := converge.Converge(tt.inputs, tt.options)
			var problem *core.Problem
			require.ErrorAs(t, err, &problem)
			assert.ErrorIs(t, err, core.ErrInvalid)
			assert.Contains(t, problem.Message, tt.message)
		})
	}
}

func TestRenderRefusesUnknownFormats(t *testing.T) {
	t.Parallel()
	result := converged(t, team(), converge.Options{Strategy: converge.StrategyMerge, Format: converge.Markdown})
	_, err := result.Render("xml")
	assert.ErrorIs(t, err, core.ErrInvalid)
	asked, err := result.Render("")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(asked), "# Converged"), "an empty format means the format of the options")
}

func TestResultsNameAnswersThatWereNotCompared(t *testing.T) {
	t.Parallel()
	deciding := func(decisions ...string) func(*converge.Input) {
		return func(in *converge.Input) { in.Decisions = decisions }
	}
	tests := map[string]struct {
		inputs   []converge.Input
		strategy converge.Strategy
		want     string
	}{
		"answers in words": {answering("Ship it", "Better wait"), converge.StrategyMerge,
			"no conflicts in what was compared; not compared: the answers of a1, a2"},
		"the same answer":    {answering("Yes", "yes"), converge.StrategyMerge, "returned; no conflicts"},
		"an answer alone":    {answering("Yes", ""), converge.StrategyMerge, "not compared: the answer of a2, which is empty"},
		"an answer in words": {answering(`{"a":1}`, `{"a":1}`, "no"), converge.StrategyMerge, "in what was compared; not compared: the answers of a3"},
		"other fields":       {answering(`{"a":1}`, `{"b":1}`), converge.StrategyMerge, "not compared: the answers of a1, a2"},
		"decisions without a name": {with(answering("yes", "yes"), deciding("use SQLite", "name: x"), deciding("no SQLite", "name: x")),
			converge.StrategyMerge, "not compared: the decisions of a1, a2"},
		"decisions with a name": {with(answering("yes", "yes"), deciding("lang: Go", "name: x"), deciding("db: none", "name: x")),
			converge.StrategyMerge, "returned; no conflicts"},
		"only decisions without a name": {with(answering("yes", "yes"), deciding("use SQLite"), deciding("no SQLite")),
			converge.StrategyConsensus, "not compared: the decisions of a1, a2"},
		"what a vote leaves out": {with(answering("yes", "yes", "yes"), deciding("db: SQLite"), deciding("db: files")), converge.StrategyVote,
			"no conflicts in what was compared; not compared: the decisions of a1, a2"},
		"the first success": {answering("yes", "no"), converge.StrategyFirstSuccess, "nothing was compared"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := converged(t, tt.inputs, converge.Options{Strategy: tt.strategy})
			assert.True(t, strings.HasSuffix(result.Rationale, tt.want), result.Rationale)
		})
	}
}

func TestADeltaOfAFileDescribesItsChange(t *testing.T) {
	t.Parallel()
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
