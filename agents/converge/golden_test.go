package converge_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/tests/cases"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

var (
	strategies  = []converge.Strategy{converge.StrategyMerge, converge.StrategyVote, converge.StrategyConsensus, converge.StrategyFirstSuccess}
	resolutions = []converge.Resolution{converge.ResolveManual, converge.AutoAcceptLatest, converge.PreferHigherConfidence}
)

// team are agents that contradict each other in every way there is.
func team(t *testing.T) []converge.AgentResult {
	t.Helper()
	return cases.Read[[]converge.AgentResult](t, "testdata/team.yaml")["team"]
}

func sure(confidence float64) *float64 { return &confidence }

// TestGolden compares each strategy, each resolution and each format with a file in testdata; go test
// -update rewrites them.
func TestGolden(t *testing.T) {
	check := func(file string, options converge.Options) {
		result, err := converge.Converge(team(t), options)
		require.NoError(t, err)
		got, err := result.Render("")
		require.NoError(t, err)
		file = filepath.Join("testdata", file)
		if *update {
			require.NoError(t, os.WriteFile(file, got, 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), file)
	}
	for _, strategy := range strategies {
		check(string(strategy)+".json", converge.Options{Strategy: strategy, Format: converge.JSON})
	}
	for _, resolution := range resolutions {
		check(string(resolution)+".md", converge.Options{Strategy: converge.StrategyMerge, Resolution: resolution, Format: converge.Markdown})
	}
	check("deltas.json", converge.Options{Strategy: converge.StrategyMerge, Resolution: converge.AutoAcceptLatest})
}
