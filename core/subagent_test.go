package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestDefaultPatternsMatchTheTitlesOfNativeSubagents(t *testing.T) {
	t.Parallel()
	patterns, bad := core.CompilePatterns(core.DefaultSubagentConfig().SubagentPatterns)
	require.Empty(t, bad)
	assert.Equal(t, "Find usages (@explore subagent)", core.SubagentTitle("Find usages", "explore"))
	assert.True(t, patterns.Match(core.SubagentTitle("Find usages", "explore")))
	assert.True(t, patterns.Match(core.SubagentTitle("", "")))
	assert.False(t, core.Patterns(nil).Match("subagent"))
}

func TestPatternsThatCannotBeUsedAreTold(t *testing.T) {
	t.Parallel()
	patterns, bad := core.CompilePatterns([]string{"[", `(?=ahead)`, `(a)\1`, "fine"})
	assert.True(t, patterns.Match("FINE"))
	require.Len(t, bad, 3)
	assert.ErrorContains(t, bad[1], "(?=ahead)")
	for _, pattern := range []string{"[", "", "  "} {
		require.ErrorIs(t, core.CheckPattern(pattern), core.ErrInvalid, "%q", pattern)
	}
	require.NoError(t, core.CheckPattern("^review"))
}

func TestPercentOfNothingIsZero(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 40, core.Percent(2, 5), 0)
	assert.Zero(t, core.Percent(2, 0))
}

func TestDefaultSubagentConfigsShareNothing(t *testing.T) {
	t.Parallel()
	core.DefaultSubagentConfig().SubagentPatterns[0] = "changed"
	assert.Equal(t, "@.*subagent", core.DefaultSubagentConfig().SubagentPatterns[0])
}
