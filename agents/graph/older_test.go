package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/tests/cases"
)

// Logs as older clients wrote them tell of each session and agent what it did itself.
func TestLogsOfOlderClientsTellTheTruth(t *testing.T) {
	for name, want := range cases.Read[[]string](t, "testdata/older.yaml") {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range track(t, logSamples+"older/"+name).Nodes {
				u := n.Usage
				got = append(got, fmt.Sprintf("%s%s %s %s in %d out %d read %d $%.5f calls %d", strings.Repeat("  ", n.Depth),
					n.Kind, strings.TrimSpace(n.Prompt), n.State, u.TokensIn, u.TokensOut, u.CacheRead, u.CostUSD, u.ToolCalls))
			}
			assert.Equal(t, want, got)
		})
	}
}

// A subagent of an older client of Codex's stands below its parent, whose file names no child.
func TestASubagentOfOlderCodexIsBelowItsParent(t *testing.T) {
	for _, n := range track(t, logSamples+"older/agent.jsonl").Nodes {
		assert.Equal(t, "01986512-fd00-7000-8000-000000000001", n.Parent)
		assert.Equal(t, "explorer", n.Type)
	}
}
