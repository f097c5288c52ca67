package converge_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/core"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

var (
	strategies  = []converge.Strategy{converge.StrategyMerge, converge.StrategyVote, converge.StrategyConsensus, converge.StrategyFirstSuccess}
	resolutions = []converge.Resolution{converge.Manual, converge.AutoAcceptLatest, converge.PreferHigherConfidence}
	extensions  = map[converge.Format]string{converge.JSON: ".json", converge.Markdown: ".md", converge.DeltaBatch: ".deltas.json"}
)

// team are agents that contradict each other in every way there is.
func team() []converge.Input {
	return []converge.Input{
		{
			SubagentID: "agent-api", Tree: "frame-root", Outcome: core.AgentCompleted, CompletedAt: 3_000,
			Confidence: sure(0.7), Base: "c0ffee1", Claimed: []string{"plan-cache"},
			Answer:    "Done:\n\n```json\n{\"verdict\": \"ship\", \"tests\": 12, \"api\": [\"get\", \"put\"]}\n```\n",
			Artifacts: []converge.Artifact{{Key: "design", Hash: "aa", Excerpt: "# Design"}, {Key: "api.yaml", Hash: "ab", Excerpt: "openapi: 3.1"}},
			Files: []converge.File{
				{Path: "src/cache.go", Base: "f0", Hash: "f1", Excerpt: "+func Get()"},
				{Path: "src/api.go", Hash: "a1", Excerpt: "+package src"},
				{Path: "./old.go", Base: "o0"},
			},
			Decisions: []string{"Database: SQLite", "keep it small"},
		},
		{
			SubagentID: "agent-cache", Tree: "frame-root", Outcome: core.AgentCompleted, CompletedAt: 5_000,
			Confidence: sure(0.9), Base: "c0ffee2", Claimed: []string{"plan-cache"},
			Answer:    `{"verdict": "wait", "tests": 12.0, "cache": {"ttl": 30}}`,
			Artifacts: []converge.Artifact{{Key: "design", Hash: "ac", Excerpt: "# Another ``` design"}},
			Files: []converge.File{
				{Path: "src/cache.go", Base: "f1", Hash: "f2", Excerpt: "+func Get()\n+func Put()"},
				{Path: "old.go", Base: "o0"},
			},
			Decisions: []string{"database = PostgreSQL", "Keep  it small"},
		},
		{
			SubagentID: "agent-docs", Outcome: core.AgentCompleted, CompletedAt: 4_000, Confidence: sure(0.9),
			Answer:    `{"verdict":"ship","tests":12,"api":["get","put"]}`,
			Decisions: []string{"language: English"},
		},
		{
			SubagentID: "agent-lint", Outcome: core.AgentError, CompletedAt: 2_000, Confidence: sure(0),
			Answer: "API Error: overloaded\n# not a heading of this page",
		},
	}
}

func sure(confidence float64) *float64 { return &confidence }

// TestGolden compares each strategy with each resolution in each format with the
// files in testdata; go test -update rewrites them.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, strategy := range strategies {
		for _, resolution := range resolutions {
			result, err := converge.Converge(team(), converge.Options{Strategy: strategy, Resolution: resolution})
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
