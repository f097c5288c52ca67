package judge

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEachListAndEachFactIsUsedAndThere finds names that are misspelt, in words.txt or in the source.
func TestEachListAndEachFactIsUsedAndThere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var source strings.Builder
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			source.Write(raw)
		}
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z][a-z ]*)"`).FindAllStringSubmatch(source.String(), -1) {
		used[m[1]] = true
	}
	for name, l := range lists() {
		if on, ok := strings.CutPrefix(name, "rules on "); ok {
			for _, r := range rules(on) {
				for _, c := range r.conditions {
					for _, fact := range c.facts {
						assert.True(t, used[strings.TrimPrefix(fact, "not ")], "no fact is called %q: %s", fact, r.Because)
					}
					for _, list := range append(c.says, c.without...) {
						require.Contains(t, lists(), list, r.Because)
						used[list] = true
					}
				}
			}
			continue
		}
		for _, other := range regexp.MustCompile(`@(\w+)`).FindAllStringSubmatch(strings.Join(l.Lines(), "\n"), -1) {
			require.Contains(t, lists(), other[1])
			used[other[1]] = true
		}
		assert.NotEmpty(t, l.Entries(), name)
	}
	assert.Len(t, lists(), strings.Count(wordsFile, "\n["), "each list has its own name")
	for name := range lists() {
		assert.True(t, used[name] || strings.HasPrefix(name, "rules on "), "the list %q is not used", name)
	}
	for _, m := range regexp.MustCompile(`(?:list|has|says|anyHas|stemIn)\((?:\w+, )?"([^"]+)"`).FindAllStringSubmatch(source.String(), -1) {
		assert.True(t, m[1] == "rules on " || lists()[m[1]] != nil, "there is no list %q", m[1])
	}
}

func TestALineThatIsNoRuleIsRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "it is so", "it is so = many if green", "it is so = 5..x if green"} {
		_, err := readRule(line, "")
		assert.Error(t, err, line)
	}
	r, err := readRule("it says %q = -40..-80 stagnation if says red or still without ahead, not green", "")
	require.NoError(t, err)
	assert.Equal(t, -40, r.Points)
	assert.Equal(t, -80, r.most)
	assert.Equal(t, "stagnation", r.Heuristic)
	assert.Equal(t, []term{{says: []string{"red", "still"}, without: []string{"ahead"}}, {facts: []string{"not green"}}}, r.conditions)
}
