package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/tests/cases"
)

func TestOneStrongSignalSuffices(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		In            core.PopInput
		NoisyOr, Mean int
		Status        core.Status
	}](t, "testdata/signals.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := core.EvaluatePop(tt.In, core.DefaultAutonomyConfig())
			assert.Equal(t, tt.NoisyOr, e.Confidence)
			assert.Equal(t, tt.Mean, e.Mean)
			assert.Equal(t, tt.NoisyOr >= 80, e.Recommended)
			assert.Equal(t, tt.Status, e.Status)
		})
	}
}

func TestEvaluationsNameTheFactsBehindEachScore(t *testing.T) {
	t.Parallel()
	in := core.PushInput{Goal: "login page", PotentialGoal: "page of the database", Errors: 3, Messages: 12, Files: []string{"a", "b"}, Tokens: 60_000}
	e := core.EvaluatePush(in, core.DefaultAutonomyConfig())
	assert.Equal(t, []core.HeuristicScore{
		{Name: "failure_boundary", Score: 75, Facts: "errors 3, another goal"},
		{Name: "context_switch", Score: 40, Facts: "files 2, words of the present goal 1 of 2"},
		{Name: "complexity", Score: 25, Facts: "messages 12, files 2"},
		{Name: "duration", Score: 70, Facts: "tokens 60000"},
	}, e.Scores)
	assert.Equal(t, "failure boundary", e.Reason)
	config := core.DefaultAutonomyConfig()
	config.EnabledHeuristics = []string{"context_switch"}
	assert.False(t, core.EvaluatePush(in, config).Recommended, "a heuristic that is off does not count")
	assert.Equal(t, core.NoReason, core.EvaluatePush(core.PushInput{}, config).Reason)
	in.PotentialGoal = "ok, go on"
	assert.False(t, core.EvaluatePush(in, config).Recommended, "going on is no goal")

	pop := core.EvaluatePop(core.PopInput{
		Goal: "login page", Artifacts: []string{"page.go"}, SuccessSignals: []string{"x"}, FailureSignals: []string{"y"}, NoProgressTurns: 2, Tokens: 95_000,
	}, core.DefaultAutonomyConfig())
	assert.Equal(t, []core.HeuristicScore{
		{Name: "goal_completion", Score: 45, Facts: "signs of success 1, artifacts 1, words of the goal 1 of 2"},
		{Name: "stagnation", Score: 20, Facts: "turns without progress 2, signs of failure 1"},
		{Name: "context_overflow", Score: 90, Facts: "tokens 95000 of 100000"},
	}, pop.Scores)
}

func TestDefaultAutonomyConfigsShareNothing(t *testing.T) {
	t.Parallel()
	changed := core.DefaultAutonomyConfig()
	changed.EnabledHeuristics[0] = "bogus"
	assert.Equal(t, []string{
		"failure_boundary", "context_switch", "complexity", "duration", "goal_completion", "stagnation", "context_overflow",
	}, core.DefaultAutonomyConfig().EnabledHeuristics)
	require.NoError(t, core.DefaultAutonomyConfig().Check())
	require.ErrorIs(t, changed.Check(), core.ErrInvalid)
}

func TestAutonomyConfigChecks(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*core.AutonomyConfig){
		"level":          func(c *core.AutonomyConfig) { c.Level = "full" },
		"pushThreshold":  func(c *core.AutonomyConfig) { c.PushThreshold = 101 },
		"popThreshold":   func(c *core.AutonomyConfig) { c.PopThreshold = -1 },
		"heuristic":      func(c *core.AutonomyConfig) { c.EnabledHeuristics = []string{"luck"} },
		"heuristic \"\"": func(c *core.AutonomyConfig) { c.EnabledHeuristics = []string{""} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := core.DefaultAutonomyConfig()
			spoil(&c)
			var problem *core.Problem
			require.ErrorAs(t, c.Check(), &problem)
			assert.Contains(t, problem.Message, name)
			assert.NotEmpty(t, problem.Hint)
		})
	}
}
