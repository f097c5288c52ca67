package tests

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The limits of what a reader can hold in mind.
const (
	packageLines = 3500 // of a package, without its tests
	fileLines    = 400
	funcLines    = 60
	typeMethods  = 40  // of a type, with those that come from what it embeds of flame
	lineColumns  = 160 // tests too
	upwardsShare = 15  // percent of the uses between a package's files that run against their best order,
	orderedFiles = 5   // where it has more files than these
)

// over are the packages and types that have not come below the limits yet, with
// their figures. A figure may only fall: lower it here when it did, and take off
// the list what has come below its limit. What is moved into a package of its
// own may bring its figure along.
var over = struct {
	lines   map[string]int
	upwards map[string]int // tenths of a percent
	methods map[string]int
	wide    int // lines, in all
}{
	lines:   map[string]int{},
	upwards: map[string]int{},
	methods: map[string]int{},
	wide:    2,
}

// within asserts that a figure is within the limit or, if its owner is on the
// list of those over it, no higher than there.
func within(t *testing.T, listed map[string]int, owner string, figure, limit int, what string) {
	t.Helper()
	bound, ok := listed[owner]
	switch {
	case !ok:
		assert.LessOrEqual(t, figure, limit, "%s: %s", owner, what)
	case figure <= limit:
		assert.Failf(t, "below the limit", "%s has come below the limit: take it off the list (%s)", owner, what)
	default:
		assert.LessOrEqual(t, figure, bound, "%s: %s, which may only fall", owner, what)
	}
}

// gone asserts that each owner on a list is there.
func gone[T any](t *testing.T, listed map[string]int, there map[string]T) {
	t.Helper()
	for owner := range listed {
		assert.Contains(t, there, owner, "the list of those over a limit names what is not there")
	}
}

func TestShapeOfPackages(t *testing.T) {
	sizes, wide, all := map[string]int{}, map[string]int{}, 0
	walkCode(t, func(path string, text []byte) {
		pkg, lines := filepath.ToSlash(filepath.Dir(path)), strings.Split(string(text), "\n")
		if count := wideLines(lines); count > 0 {
			wide[path], all = count, all+count
		}
		assert.NotContains(t, string(text), "//"+"nolint", path)
		assert.NotContains(t, string(text), "//"+"lint:", path)
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		sizes[pkg] += len(lines) - 1
		assert.LessOrEqual(t, len(lines)-1, fileLines, "%s is one file", path)
	})
	for pkg, lines := range sizes {
		within(t, over.lines, pkg, lines, packageLines, "lines of a package")
	}
	assert.LessOrEqual(t, all, over.wide, "lines over %d columns: %v", lineColumns, wide)
	gone(t, over.lines, sizes)
}

// wideLines counts the lines that are too long. The tag of a field does not
// count: Go wants it on one line.
func wideLines(lines []string) (count int) {
	for _, line := range lines {
		if strings.HasSuffix(line, "\"`") {
			line, _, _ = strings.Cut(line, "`")
		}
		if utf8.RuneCountInString(line) > lineColumns {
			count++
		}
	}
	return count
}

// walkCode calls f with each Go file that is written by hand.
func walkCode(t *testing.T, f func(path string, text []byte)) {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "third_party") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		f(path, text)
		return err
	}))
}

func TestShapeOfFunctions(t *testing.T) {
	for _, pkg := range productCode(t) {
		commented := false
		for _, file := range pkg.files {
			commented = commented || file.Doc != nil
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				line := func(pos token.Pos) int { return pkg.fset.Position(pos).Line }
				assert.LessOrEqual(t, line(f.End())-line(f.Pos())+1, funcLines, "%s: %s", pkg.path, f.Name.Name)
				assert.False(t, f.Recv == nil && f.Name.Name == "init", "%s: an init runs before anybody asks for it", pkg.path)
			}
		}
		assert.True(t, commented, "package %q has no comment", pkg.path)
	}
}

func TestShapeOfTypes(t *testing.T) {
	counts := map[string]int{}
	for _, pkg := range productCode(t) {
		for _, name := range pkg.types.Scope().Names() {
			object, ok := pkg.types.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() {
				continue
			}
			counts[pkg.path+"."+name] = ownMethods(object.Type())
		}
	}
	for name, count := range counts {
		within(t, over.methods, name, count, typeMethods, "methods of a type")
	}
	gone(t, over.methods, counts)
}

// ownMethods counts the methods of a type that flame declares.
func ownMethods(t types.Type) (count int) {
	if !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	set := types.NewMethodSet(t)
	for i := range set.Len() {
		if path := set.At(i).Obj().Pkg(); path != nil && strings.HasPrefix(path.Path()+"/", "flame/") {
			count++
		}
	}
	return count
}

func TestShapeOfUsesBetweenFiles(t *testing.T) {
	there := map[string]bool{}
	for _, pkg := range productCode(t) {
		there[pkg.path] = true
		files, all := arrows(pkg)
		if len(files) <= orderedFiles || len(all) == 0 {
			continue
		}
		_, back := bestOrder(len(files), all)
		var names []string
		for _, a := range back {
			names = append(names, files[a.from]+" -> "+files[a.to])
		}
		within(t, over.upwards, pkg.path, 1000*len(back)/len(all), 10*upwardsShare,
			fmt.Sprintf("%d of %d uses run back up, in tenths of a percent: %s", len(back), len(all), strings.Join(names, ", ")))
	}
	gone(t, over.upwards, there)
}
