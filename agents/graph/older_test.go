package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Logs as older clients wrote them tell of each session and agent what it did itself.
func TestLogsOfOlderClientsTellTheTruth(t *testing.T) {
	t.Parallel()
	const thread = "session PARENT completed"
	for name, want := range map[string][]string{
		"growing.jsonl": {"session grow completed in 730 out 1109 read 1000 $0.03188 calls 1"},
		"inside.jsonl": {
			"session lead completed in 33 out 10 read 0 $0.00042 calls 3",
			"  subagent LEFT completed in 300 out 21 read 0 $0.00202 calls 1",
			"  subagent RIGHT completed in 300 out 30 read 0 $0.00225 calls 0",
			"  subagent LATE error in 400 out 40 read 0 $0.00300 calls 0",
			"  subagent Warmup completed in 1 out 1 read 0 $0.00003 calls 0",
		},
		"counts.jsonl":        {thread + " in 16000 out 760 read 15000 $0.05515 calls 1"},
		"resumed.jsonl":       {thread + " in 16000 out 760 read 15000 $0.05515 calls 1"},
		"fork.jsonl":          {"session FORK completed in 500 out 50 read 500 $0.00213 calls 1"},
		"fork-bare.jsonl":     {"session FORK completed in 500 out 50 read 500 $0.00213 calls 0"},
		"agent.jsonl":         {"subagent CHILD completed in 4000 out 100 read 0 $0.01150 calls 0"},
		"agent-bare.jsonl":    {"subagent CHILD completed in 4000 out 100 read 0 $0.01150 calls 0"},
		"agent-stamped.jsonl": {"subagent CHILD completed in 4000 out 100 read 0 $0.01150 calls 0"},
		"agent-fresh.jsonl":   {"subagent CHILD completed in 4000 out 100 read 0 $0.01150 calls 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
	t.Parallel()
	for _, n := range track(t, logSamples+"older/agent.jsonl").Nodes {
		assert.Equal(t, "01986512-fd00-7000-8000-000000000001", n.Parent)
		assert.Equal(t, "explorer", n.Type)
	}
}
