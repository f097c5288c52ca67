package supervise_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/supervise"
	"flame/core"
)

// metered runs a fake host under a supervisor whose gateway measures, within limits.
func metered(t *testing.T, behaviour string, limits supervise.Limits, m *supervise.Meter, prepare func() error) supervise.Outcome {
	t.Helper()
	s := supervisor(t, behaviour, &journal{})
	s.Job.Limits, s.Meter, s.Prepare = limits, m, prepare
	outcome, err := s.Run(t.Context())
	require.NoError(t, err)
	return outcome
}

func TestMeasuredUsageIsTheUsageOfAnAgent(t *testing.T) {
	told, _ := supervised(t, "does its work", nil)
	require.Positive(t, told.Usage.TokensIn, "its output has usage, too")
	closed, prepared := 0, 0
	m := &supervise.Meter{}
	m.Close = func() {
		closed++
		m.Add(core.Usage{TokensIn: 3, CostUSD: 0.25}, false) // an answer that was under way
	}
	m.Add(core.Usage{TokensIn: 4, TokensOut: 2, CostUSD: 0.5}, false)
	m.Add(core.Usage{TokensIn: 10, CacheRead: 20, CostUSD: 1}, true)
	got := metered(t, "does its work", supervise.Limits{Wall: 20 * time.Second}, m, func() error { prepared++; return nil })
	assert.Equal(t, 1, closed)
	assert.Equal(t, 1, prepared)
	assert.True(t, got.Metered)
	assert.Equal(t, core.Usage{TokensIn: 7, TokensOut: 2, CostUSD: 0.75, ToolCalls: told.Usage.ToolCalls}, got.Usage)
	assert.Equal(t, core.Usage{TokensIn: 10, CacheRead: 20, CostUSD: 1}, got.SubagentUsage)
	assert.Equal(t, int64(39), got.Tokens())
	assert.InDelta(t, 1.75, got.Cost(), 1e-9)
	assert.Equal(t, told.Turns, got.Turns)
}

func TestLimitsApplyToMeasuredUsage(t *testing.T) {
	tests := map[string]struct {
		used   core.Usage
		below  bool
		limits supervise.Limits
		reason string
	}{
		"tokens":               {core.Usage{TokensIn: 60, CacheRead: 40}, false, supervise.Limits{Tokens: 100}, supervise.TokenBudget},
		"tokens of a subagent": {core.Usage{TokensOut: 100}, true, supervise.Limits{Tokens: 100}, supervise.TokenBudget},
		"USD":                  {core.Usage{CostUSD: 0.5}, false, supervise.Limits{CostUSD: 0.5}, supervise.CostBudget},
		"USD of a subagent":    {core.Usage{CostUSD: 0.5}, true, supervise.Limits{CostUSD: 0.5}, supervise.CostBudget},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.limits.Wall = 20 * time.Second
			m := &supervise.Meter{Close: func() {}}
			m.Add(tt.used, tt.below)
			got := metered(t, "hangs", tt.limits, m, nil)
			assert.Equal(t, core.AgentError, got.State)
			assert.Equal(t, tt.reason, got.Reason)
		})
	}
}

func TestAnAgentWhoseGatewayIsNotReadyIsNotStarted(t *testing.T) {
	got := metered(t, "does its work", supervise.Limits{Wall: 20 * time.Second}, nil, func() error { return errors.New("the disk is full") })
	assert.Equal(t, core.AgentError, got.State)
	assert.Contains(t, got.Error, "the disk is full")
	assert.Zero(t, got.Turns)
}
