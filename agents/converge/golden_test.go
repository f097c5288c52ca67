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
	resolutions = []converge.Resolution{converge.Manual, converge.AutoAcceptLatest, converge.PreferHigherConfidence}
	extensions  = map[converge.Format]string{converge.JSON: ".json", converge.Markdown: ".md", converge.DeltaBatch: ".deltas.json"}
)

// team are agents that contradict each other in every way there is.
func team(t *testing.T) []converge.AgentResult {
	t.Helper()
	return cases.Read[[]converge.AgentResult](t, "testdata/team.yaml")["team"]
}

func sure(confidence float64) *float64 { return &confidence }

// TestGolden compares each strategy with each resolution in each format with the
// files in testdata; go test -update rewrites them.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		for _, resolution := range resolutions {
			result, err := converge.Converge(team(t), converge.Options{Strategy: strategy, Resolution: resolution})
			require.NoError(t, err)
			for format, extension := range extensions {
				got, err := result.Render(format)
				require.NoError(t, err)
				file := filepath.Join("testdata", string(strategy)+"-"+string(resolution)+extension)
				if *update {
					require.NoError(t, os.MkdirAll("testdata", 0o755))
					require.NoError(t, os.WriteFile(file, got, 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Equal(t, string(want), string(got), file)
			}
		}
	}
}
