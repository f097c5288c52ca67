package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/tools"
)

// A literal is a text in the product's Go code, with its position.
type literal struct{ text, at string }

// literals returns the texts of all Go files of the product, except the tags of fields.
func literals(t *testing.T) (all []literal) {
	walkCode(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "tests/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if field, is := n.(*ast.Field); is {
				field.Tag = nil
			}
			if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				all = append(all, literal{text, path + ":" + strconv.Itoa(files.Position(lit.Pos()).Line)})
			}
			return true
		})
	})
	return all
}

// A tool's name occurs in its definition, or in core if texts and hosts need it; texts name tools
// by op.Name, and each door fills in its own words.
func TestAToolIsNamedInOnePlace(t *testing.T) {
	t.Parallel()
	found, all := map[string][]string{}, literals(t)
	for _, name := range tools.Names() {
		word := regexp.MustCompile(`(^|\W)` + name + `(\W|$)`)
		for _, l := range all {
			if word.MatchString(l.text) {
				found[name] = append(found[name], l.at)
			}
		}
	}
	for name, places := range found {
		if !assert.Len(t, places, 1, name) {
			continue
		}
		if !strings.HasPrefix(places[0], "tools/") {
			assert.Contains(t, places[0], "core/op/op.go", name)
		}
	}
}

// A slash command occurs only in the table: hosts' files, the plugin and the server's prompts are
// made from it.
func TestASlashCommandStandsInOnePlace(t *testing.T) {
	t.Parallel()
	all := literals(t)
	for _, c := range op.Commands {
		typed := regexp.MustCompile(`(^|\s)/(flame:)?` + c.Name + `(\s|$)`)
		for _, l := range all {
			told := strings.HasPrefix(l.text, "Call the tool ") && !strings.HasPrefix(l.at, "core/op/command.go")
			assert.False(t, told || typed.MatchString(l.text), "%s: %s", l.at, l.text)
		}
	}
	plugin, err := os.ReadFile(filepath.Join("..", "hosts", "opencode", "flame.js"))
	require.NoError(t, err)
	assert.NotContains(t, string(plugin), op.CommandLine)
}

// A setting's variable occurs in the tag of its field, and in config/env if texts mention it;
// variables that are no settings occur only there, and those that are gone in their list.
func TestASettingIsNamedInOnePlace(t *testing.T) {
	t.Parallel()
	all, known := literals(t), map[string]bool{}
	for _, setting := range (config.Settings{}).List() {
		known[setting.Name] = true
	}
	for _, name := range env.Inner {
		known[name] = true
	}
	variable := regexp.MustCompile(`FLAME_[A-Z_]+`)
	found := map[string]string{}
	for _, l := range all {
		for _, name := range variable.FindAllString(l.text, -1) {
			assert.Empty(t, found[name], "%s stands at %s, too", name, l.at)
			_, gone := config.Gone[name]
			there := strings.HasPrefix(l.at, "config/env/") && known[name] || strings.HasPrefix(l.at, "config/config.go") && gone
			assert.True(t, there || name == core.AgentVariable, "%s: %s", l.at, name)
			found[name] = l.at
		}
	}
}

// The name of an event occurs only in the list of core.
func TestAnEventIsNamedInOnePlace(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "core", "event.go"), nil, 0)
	require.NoError(t, err)
	events := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is && len(spec.Values) == 1 {
			if lit, is := spec.Values[0].(*ast.BasicLit); is && lit.Kind == token.STRING {
				events[strings.Trim(lit.Value, `"`)] = true
			}
		}
		return true
	})
	require.Greater(t, len(events), 30)
	for _, l := range literals(t) {
		if strings.HasPrefix(l.at, "hosts/") {
			continue // hosts have their own names for events, some of them the same
		}
		assert.False(t, events[l.text] && !strings.HasPrefix(l.at, "core/event.go"), "%s: %s", l.at, l.text)
	}
}

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
