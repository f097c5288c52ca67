package claims

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEachListIsUsedAndThere finds names of lists that are misspelt, in words.txt or in the source.
func TestEachListIsUsedAndThere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	used, source := map[string]bool{}, ""
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		if !strings.HasSuffix(file, "_test.go") {
			source += string(raw)
		}
		for _, m := range regexp.MustCompile(`(?:wordIn|stemIn|meaning|lists\.Of)\("([^"]+)"`).FindAllStringSubmatch(string(raw), -1) {
			used[m[1]] = true
			assert.Contains(t, lists(), m[1], file)
		}
	}
	assert.Len(t, lists(), strings.Count(wordsFile, "\n["), "each list has its own name")
	for name, l := range lists() {
		mark, ofTask := strings.CutPrefix(name, "task ")
		assert.True(t, used[name] || ofTask && strings.Contains(source, `"`+mark+`"`), "the list %q is not used", name)
		assert.NotEmpty(t, strings.Join(l.Entries(), ""), name)
	}
}
