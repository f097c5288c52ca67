package web_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	importing = regexp.MustCompile(`(?m)^import \{([^}]*)\} from "\./(\w+)\.js";$`)
	exporting = regexp.MustCompile(`(?m)^export (?:async )?(?:const|function|class) (\w+)`)
)

// What a module of the page exports, another one imports; what it imports, it uses.
func TestThePageHasNoUnusedExportsOrImports(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("page/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	exported, imported := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		source, module := string(content), strings.TrimSuffix(filepath.Base(path), ".js")
		for _, found := range exporting.FindAllStringSubmatch(source, -1) {
			exported[module+"."+found[1]] = true
		}
		if module != "words" {
			assert.NotRegexp(t, `toFixed|toPrecision|toLocale|Intl\.`, source, "%s: words.js has the form of figures", path)
		}
		rest := importing.ReplaceAllString(source, "")
		assert.NotRegexp(t, `(?m)^import `, rest, "%s: reports know imports of one form alone", path)
		for _, found := range importing.FindAllStringSubmatch(source, -1) {
			for name := range strings.SplitSeq(found[1], ",") {
				name = strings.TrimSpace(name)
				imported[found[2]+"."+name] = true
				assert.Regexp(t, `\b`+name+`\b`, rest, "%s imports %s", path, name)
			}
		}
	}
	assert.Equal(t, exported, imported)
}
