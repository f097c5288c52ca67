package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// namesAHost matches what only a host's own package, its formats of logs and the
// list in main.go may say.
var namesAHost = regexp.MustCompile(`(?i)claude|opencode`)

// TestAHostIsNamedInItsOwnPackageOnly keeps a host one folder and one line: whatever
// else wants to know of hosts asks the registry.
func TestAHostIsNamedInItsOwnPackageOnly(t *testing.T) {
	walkCode(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "tests/") || strings.HasSuffix(filepath.Dir(path), "test") {
			return // tests, and packages that only tests use
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		require.NoError(t, err)
		free := path == "main.go" || strings.HasPrefix(path, "hosts/") || strings.HasPrefix(path, "transcripts/")
		for _, spec := range file.Imports {
			ofHost := strings.HasPrefix(spec.Path.Value, `"flame/hosts/`)
			assert.False(t, ofHost && path != "main.go", "%s imports %s", path, spec.Path.Value)
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
