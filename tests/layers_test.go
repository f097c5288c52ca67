// Package tests looks at the whole program from outside.
package tests

import (
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hub"
)

// floors are the folders at the top level, from the bottom up. A package imports from its
// own folder and from lower floors. A folder that is missing here fails: changing the
// picture is a visible act, and docs/architecture.md draws it.
var floors = [][]string{
	{"core", "config"},
	{"local", "transcripts"},
	{"project"},
	{"store", "hosts"},
	{"agents"},
	{"hub", "render"},
	{"tools", "web"},
	{"cli"},
	{"", "flame-hub"}, // main.go, and the second program
}

// strangers are folders of lower floors that a folder does not import all the same: doors
// reach the store by way of project, and only the shell knows all settings. cli/wiring, which makes
// the parts of both programs, has the store all the same.
var strangers = map[string][]string{
	"store":       {"config"},
	"hosts":       {"config"},
	"agents":      {"config", "store"},
	"hub":         {"config", "store"},
	"render":      {"config", "store"},
	"tools":       {"config", "store", "hub"},
	"web":         {"config", "store", "hub"},
	"cli":         {"store"},
	"flame-hub":   {"config", "store", "tools", "web"},
	"project":     {"config"},
	"local":       {"config"},
	"transcripts": {"config"},
}

// The limits of the picture.
const (
	floorLimit      = 8  // below main.go
	arrowLimit      = 71 // between folders, those of tests and main.go included, without those of flame-hub
	folderLimit     = 16 // at the top level, docs and tests included
	packageLimit    = 67 // of flame
	hubPackageLimit = 6  // of flame-hub, the second program
)

func TestImportsPointDown(t *testing.T) {
	floor := map[string]int{}
	for i, folders := range floors {
		for _, folder := range folders {
			floor[folder] = i
		}
	}
	found, arrows, folders := imports(t), map[[2]string]bool{}, map[string]bool{"docs": true}
	packages, hubPackages := 0, 0
	for pkg, imported := range found {
		from := folderOf(pkg)
		folders[from] = true
		here, known := floor[from]
		if !known && from != "tests" {
			assert.Failf(t, "unknown folder", "package %q stands in a folder without a floor", pkg)
			continue
		}
		switch {
		case from == hub.Program:
			hubPackages++
		case known:
			packages++
		}
		for _, other := range imported {
			to := folderOf(other)
			if to == from {
				continue
			}
			if from != hub.Program && to != hub.Program {
				arrows[[2]string{from, to}] = true
			}
			if known {
				assert.Less(t, floor[to], here, "package %q imports %q", pkg, other)
				assert.False(t, slices.Contains(strangers[from], to) && other != "config/env" && pkg != "cli/wiring", "package %q imports %q", pkg, other)
				assert.NotEqual(t, "tests", to, "package %q imports %q", pkg, other)
			}
		}
	}
	delete(folders, "")
	assert.LessOrEqual(t, len(floors)-1, floorLimit, "floors")
	assert.LessOrEqual(t, len(arrows), arrowLimit, "arrows between folders")
	assert.LessOrEqual(t, len(folders), folderLimit, "folders at the top level")
	assert.LessOrEqual(t, packages, packageLimit, "packages")
	assert.LessOrEqual(t, hubPackages, hubPackageLimit, "packages of %s", hub.Program)
}

// TestImportsOfFlameHaveNoNATS keeps what every process of flame would pay for in flame-hub.
func TestImportsOfFlameHaveNoNATS(t *testing.T) {
	list := func(program string) string {
		cmd := exec.Command("go", "list", "-deps", program)
		cmd.Dir = ".."
		found, err := cmd.Output()
		require.NoError(t, err)
		return string(found)
	}
	assert.NotContains(t, list("."), "/nats")
	assert.NotContains(t, list("."), "/nkeys")
	assert.NotContains(t, list("."), "flame/flame-hub")
	assert.Contains(t, list("./flame-hub"), "/nats", "this is how they are called")
}

// folderOf returns the folder at the top level that a package stands in, "" for main.go.
func folderOf(pkg string) string {
	folder, _, _ := strings.Cut(pkg, "/")
	return folder
}

// imports returns each package of the repository, by folder, with those of flame
// that its non-test files import.
func imports(t *testing.T) map[string][]string {
	found := map[string][]string{}
	walkCode(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		require.NoError(t, err)
		own := found[pkg]
		for _, spec := range file.Imports {
			if imported, ok := strings.CutPrefix(spec.Path.Value, `"flame/`); ok {
				own = append(own, strings.TrimSuffix(imported, `"`))
			}
		}
		found[pkg] = own
	})
	return found
}
