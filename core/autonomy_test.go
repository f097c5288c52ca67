package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestOneStrongSignalSuffices(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in            core.PopInput
		noisyOr, mean int
		status        core.Status
	}{
		"a goal reached": {
			core.PopInput{Goal: "verify tokens", Artifacts: []string{"verify.go", "tokens.go", "c"}, SuccessSignals: []string{"a", "b", "c"}}, 100, 40, core.Completed},
		"a full window":         {core.PopInput{Tokens: 95_000}, 90, 30, core.Completed},
		"a window of own size":  {core.PopInput{Tokens: 95_000, ContextLimit: 1_000_000}, 0, 0, core.Completed},
		"no progress":           {core.PopInput{NoProgressTurns: 6}, 70, 23, core.Blocked},
		"no progress, failures": {core.PopInput{NoProgressTurns: 6, FailureSignals: []string{"a", "b", "c", "d"}}, 100, 37, core.Failed},
		"failures alone":        {core.PopInput{FailureSignals: []string{"a", "b", "c", "d"}}, 40, 13, core.Failed},
		"two middling signals":  {core.PopInput{NoProgressTurns: 4, Tokens: 71_000}, 70, 30, core.Completed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := core.DefaultAutonomyConfig()
			e := core.EvaluatePop(tt.in, config)
			assert.Equal(t, tt.noisyOr, e.Confidence)
			assert.Equal(t, []int{tt.noisyOr, tt.mean}, []int{e.NoisyOr, e.Mean})
			assert.Equal(t, tt.noisyOr >= 80, e.Recommended)
			assert.Equal(t, tt.status, e.Status)
			config.Strategy = core.Mean
			assert.Equal(t, tt.mean, core.EvaluatePop(tt.in, config).Confidence)
		})
	}
}

func TestEvaluationsExplainThemselves(t *testing.T) {
	t.Parallel()
	e := core.EvaluatePush(core.PushInput{Goal: "login", PotentialGoal: "database", Errors: 3}, core.DefaultAutonomyConfig())
	assert.Equal(t, "Confidence 90 reaches the threshold 70 for a push: failure boundary 75, context switch 60.", e.Explanation)
	assert.Equal(t, "failure boundary", e.Reason)
	none := core.EvaluatePush(core.PushInput{}, core.DefaultAutonomyConfig())
	assert.Equal(t, "Confidence 0 stays below the threshold 70 for a push: no strong signal.", none.Explanation)
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
		"strategy":       func(c *core.AutonomyConfig) { c.Strategy = "max" },
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
