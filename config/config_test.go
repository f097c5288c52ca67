package config

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/cases"
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
	tests := cases.Read[struct {
		Name, Value string
		Want        string // as List shows it
		Warns       bool
	}](t, "testdata/environment.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			clear(t)
			t.Setenv(tt.Name, tt.Value)
			s, warnings := Load()
			for _, row := range s.List() {
				if row.Name == tt.Name {
					assert.Equal(t, tt.Want, row.Value)
				}
			}
			if !tt.Warns {
				require.Empty(t, warnings)
				return
			}
			require.Len(t, warnings, 1)
			assert.Contains(t, warnings[0].String(), tt.Name)
			assert.Contains(t, warnings[0].String(), tt.Value)
			assert.Contains(t, warnings[0].String(), tt.Want, "the default that holds is named")
			assert.Equal(t, tt.Value, os.Getenv(tt.Name), "the environment is left as it was")
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

func TestMisspeltVariablesNameTheNearestSetting(t *testing.T) {
	got := UnknownVariables([]string{
		"FLAME_AGENT=agent-1", "FLAME_PUSH_TRESHOLD=60", "FLAME_TOOLS=core", "FLAMEDIR=/x", "FLAME_EMPTY=", "HOME=/h", "FLAME_QUITE_ELSEWHERE=1", "flame_off=1",
	}, "FLAME_AGENT")
	assert.Equal(t, []UnknownVariable{
		{"FLAMEDIR", "FLAME_DIR"}, {"FLAME_PUSH_TRESHOLD", "FLAME_PUSH_THRESHOLD"}, {"FLAME_QUITE_ELSEWHERE", ""}, {"flame_off", "FLAME_OFF"},
	}, got)
}
