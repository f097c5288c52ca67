package core_test

import (
	"fmt"
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

func TestDefaultSubagentConfigsShareNothing(t *testing.T) {
	t.Parallel()
	core.DefaultSubagentConfig().SubagentPatterns[0] = "changed"
	assert.Equal(t, "@.*subagent", core.DefaultSubagentConfig().SubagentPatterns[0])
}

func TestTypesThatWereOftenWorthAFrameAreProposed(t *testing.T) {
	t.Parallel()
	count := func(seen, framed int) (s core.SubagentStats) {
		s.CountType("Find it (@explore subagent)", core.TypeCount{Seen: seen})
		s.CountType("Find more (@explore subagent)", core.TypeCount{Framed: framed})
		s.CountType("Without a type", core.TypeCount{Seen: seen, Framed: framed})
		return s
	}
	none := []string{"^never$"}
	want := []core.TitlePattern{{Type: "explore", Pattern: `\(@explore subagent\)$`, TypeCount: core.TypeCount{Seen: 12, Framed: 9}}}
	assert.Equal(t, want, count(12, 9).TitlePatterns(none))
	assert.Empty(t, count(9, 9).TitlePatterns(none), "too few")
	assert.Empty(t, count(12, 8).TitlePatterns(none), "too seldom")
	assert.Empty(t, count(12, 9).TitlePatterns([]string{"explore"}), "a pattern matches already")
	patterns, _ := core.CompilePatterns([]string{want[0].Pattern})
	assert.True(t, patterns.Match("Find it (@explore subagent)"))
	var many core.SubagentStats
	for i := range 100 {
		many.CountType(fmt.Sprintf("x (@type%d subagent)", i), core.TypeCount{Seen: 1})
	}
	assert.Len(t, many.Types, 64)
}
