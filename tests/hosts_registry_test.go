package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// namesAHost matches names that may occur only in a host's own package, in the formats of its logs
// and in the list in main.go.
var namesAHost = regexp.MustCompile(`(?i)claude|opencode|codex|gemini`)

// TestAHostIsNamedInItsOwnPackageOnly keeps a host one folder and one line: all other code asks
// the registry.
func TestAHostIsNamedInItsOwnPackageOnly(t *testing.T) {
	walkCode(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "tests/") || strings.HasSuffix(filepath.Dir(path), "test") {
			return // tests, and packages that only tests use
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		require.NoError(t, err)
		folder := filepath.Dir(path)
		free := folder == "cli/wiring" || folder == "hosts" || folder == "transcripts" || namesAHost.MatchString(folder)
		for _, spec := range file.Imports {
			itsLogs := spec.Path.Value == strconv.Quote("flame/transcripts/"+filepath.Base(folder)) && strings.HasPrefix(folder, "hosts/")
			assert.False(t, namesAHost.MatchString(spec.Path.Value) && folder != "cli/wiring" && !itsLogs, "%s imports %s", path, spec.Path.Value)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if ok && !free && !slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return spec.Path == literal }) {
				assert.False(t, namesAHost.MatchString(literal.Value), "%s names a host: %s", path, literal.Value)
			}
			return true
		})
	})
}
