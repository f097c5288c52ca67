package config

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const heuristics = "failure_boundary,context_switch,complexity,duration,goal_completion,stagnation,context_overflow"

func TestLoadTakesDefaultsFromTheTags(t *testing.T) {
	clear(t)
	s, warnings := Load()
	require.Empty(t, warnings)
	for _, row := range s.List() {
		assert.Equal(t, row.Default, row.Value, row.Name)
		assert.Equal(t, "default", row.Source, row.Name)
		assert.NotEmpty(t, row.Meaning, row.Name)
		assert.True(t, strings.HasPrefix(row.Name, "FLAME_"), row.Name)
	}
	assert.Equal(t, heuristics, s.EnabledHeuristics.String())
}

func TestLoadReadsTheEnvironment(t *testing.T) {
	tests := map[string]struct {
		name, value string
		want        string // as List shows it
		warns       bool
	}{
		"a number":                        {"FLAME_TOKEN_BUDGET_TOTAL", "8000", "8000", false},
		"an empty variable is not set":    {"FLAME_TOKEN_BUDGET_TOTAL", "", "4000", false},
		"junk keeps the default":          {"FLAME_TOKEN_BUDGET_TOTAL", "many", "4000", true},
		"a negative number does too":      {"FLAME_SUBAGENT_IDLE_DELAY", "-1", "5000", true},
		"trailing junk is junk":           {"FLAME_SUBAGENT_MIN_DURATION", "30s", "60000", true},
		"a threshold is clamped":          {"FLAME_PUSH_THRESHOLD", "170", "100", false},
		"true in any spelling":            {"FLAME_OFF", "1", "true", false},
		"a bool must be one":              {"FLAME_SUBAGENT_ENABLED", "yes please", "true", true},
		"a level in any case":             {"FLAME_AUTONOMY_LEVEL", "AUTO", "auto", false},
		"an unknown level":                {"FLAME_AUTONOMY_LEVEL", "wild", "suggest", true},
		"patterns are split and trimmed":  {"FLAME_SUBAGENT_PATTERNS", " a , b,, ", "a,b", false},
		"a pattern must compile":          {"FLAME_SUBAGENT_PATTERNS", "(?=x)", `@.*subagent,subagent,\[Task\]`, true},
		"no heuristic is a choice":        {"FLAME_ENABLED_HEURISTICS", ",", "", false},
		"an unknown heuristic is refused": {"FLAME_ENABLED_HEURISTICS", "complexity,bogus", heuristics, true},
		"a secret is not shown":           {"FLAME_HTTP_TOKEN", "hunter2", "(set)", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			clear(t)
			t.Setenv(tt.name, tt.value)
			s, warnings := Load()
			for _, row := range s.List() {
				if row.Name == tt.name {
					assert.Equal(t, tt.want, row.Value)
				}
			}
			if !tt.warns {
				require.Empty(t, warnings)
				return
			}
			require.Len(t, warnings, 1)
			assert.Contains(t, warnings[0].String(), tt.name)
			assert.Contains(t, warnings[0].String(), tt.value)
			assert.Contains(t, warnings[0].String(), tt.want, "the default that holds is named")
			assert.Equal(t, tt.value, os.Getenv(tt.name), "the environment is left as it was")
		})
	}
}

func TestABadPatternDropsOnlyItself(t *testing.T) {
	clear(t)
	t.Setenv("FLAME_SUBAGENT_PATTERNS", "(?=x), review,[, @.*helper")
	s, warnings := Load()
	assert.Equal(t, Patterns{"review", "@.*helper"}, s.SubagentPatterns)
	require.Len(t, warnings, 2)
	assert.Contains(t, warnings[0].String(), `"(?=x)" in FLAME_SUBAGENT_PATTERNS is not used`)
	assert.Contains(t, warnings[1].String(), `; review,@.*helper still applies`)
	assert.Equal(t, "(?=x), review,[, @.*helper", os.Getenv("FLAME_SUBAGENT_PATTERNS"), "the environment is left as it was")
}

func TestLoadWarnsOfEveryBadVariable(t *testing.T) {
	clear(t)
	t.Setenv("FLAME_PUSH_THRESHOLD", "x")
	t.Setenv("FLAME_POP_THRESHOLD", "y")
	t.Setenv("FLAME_TOKEN_BUDGET_TOTAL", "9000")
	s, warnings := Load()
	assert.Len(t, warnings, 2)
	assert.Equal(t, Count(9000), s.BudgetTotal)
	assert.Equal(t, Percent(70), s.PushThreshold)
}

// clear hides the variables of the environment that the test runs in.
func clear(t *testing.T) {
	for _, row := range (Settings{}).List() {
		t.Setenv(row.Name, "")
	}
}
