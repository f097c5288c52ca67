package tests

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hub"
)

// The limits of what a reader can keep in mind.
const (
	packageLines = 3500 // of a package, without its tests
	fileLines    = 400
	funcLines    = 60
	typeMethods  = 40  // of a type, including those of flame's embedded types
	lineColumns  = 160 // tests too
	upwardsShare = 15  // percent of the uses between a package's files that run back to a file that uses them,
	orderedFiles = 5   // where it has more files than these
)

func TestShapeOfPackages(t *testing.T) {
	sizes := map[string]int{}
	walkCode(t, func(path string, text []byte) {
		pkg, lines := filepath.ToSlash(filepath.Dir(path)), strings.Split(string(text), "\n")
		for i, line := range lines {
			assert.LessOrEqual(t, columns(line), lineColumns, "%s:%d is one line", path, i+1)
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
		assert.LessOrEqual(t, lines, packageLines, "%s is one package", pkg)
	}
}

// roomLines are the most lines that the folders at the top level may have in Go, without
// tests: a room that outgrows its limit has a concept too many.
var roomLines = map[string]int{
	"agents": 14_000, "cli": 6_500, "config": 500, "core": 8_600, "hosts": 13_200, "hub": 800, "flame-hub": 6_500, "local": 3_500, "project": 15_600,
	"render": 3_500, "store": 4_500, "tools": 5_000, "transcripts": 5_600, "web": 1_500, ".": 500,
}

// flameLines is the same of flame, which is all of them but flame-hub. It rises by what a new host or
// feature brings, and falls by everything else.
const flameLines = 82_000

func TestShapeOfTheWhole(t *testing.T) {
	rooms, whole := map[string]int{}, 0
	walkCode(t, func(path string, text []byte) {
		room, _, below := strings.Cut(path, "/")
		if !below {
			room = "."
		}
		if room == "tests" || strings.HasSuffix(path, "_test.go") {
			return
		}
		lines := bytes.Count(text, []byte("\n"))
		rooms[room] += lines
		whole += lines
	})
	for room, lines := range rooms {
		assert.LessOrEqual(t, lines, roomLines[room], "%s/", room)
	}
	assert.LessOrEqual(t, whole-rooms[hub.Program], flameLines, "flame")
}

// columns returns the length of a line. The tag of a field does not count: Go requires it on one
// line.
func columns(line string) int {
	if strings.HasSuffix(line, "\"`") {
		line, _, _ = strings.Cut(line, "`")
	}
	return utf8.RuneCountInString(line)
}

// walkCode calls f with each handwritten Go file.
func walkCode(t *testing.T, f func(path string, text []byte)) {
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
	for _, pkg := range productCode(t) {
		for _, name := range pkg.types.Scope().Names() {
			object, ok := pkg.types.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() {
				continue
			}
			assert.LessOrEqual(t, ownMethods(object.Type()), typeMethods, "%s.%s is one type", pkg.path, name)
		}
	}
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
	for _, pkg := range productCode(t) {
		files, all := arrows(pkg)
		if len(files) <= orderedFiles || len(all) == 0 {
			continue
		}
		var back []arrow
		var names []string
		for _, a := range all {
			if a.from < a.to && slices.Contains(all, arrow{a.to, a.from}) {
				back, names = append(back, a), append(names, files[a.from]+" <-> "+files[a.to])
			}
		}
		assert.LessOrEqual(t, 100*len(back), upwardsShare*len(all),
			"%s: %d of %d uses run back up: %s", pkg.path, len(back), len(all), strings.Join(names, ", "))
	}
}

// figures are the files in which figures get the form that people read; the others have exact times, in documents
// that are read later, and days as keys.
var figures = []string{
	"core/amounts.go", "render/words.go", "agents/converge/render.go", "cli/sums.go", "core/summaries/compaction.go", "transcripts/markdown.go",
}

// figure is a figure that a text writes by itself.
var figure = regexp.MustCompile(`%\.\d+f|\$%|%d (k|M|tokens|s|min|hours|days)\b`)

// formatters give a duration or a time another form.
var formatters = []string{"(time.Duration).String", "(time.Duration).Round", "(time.Time).Format"}

// TestShapeOfFigures finds texts that write figures, durations and times in a form of their own.
func TestShapeOfFigures(t *testing.T) {
	for _, pkg := range productCode(t) {
		for _, file := range pkg.files {
			name := strings.TrimPrefix(pkg.path+"/"+pkg.file(file.Pos()), "/")
			if slices.Contains(figures, name) {
				continue
			}
			for n := range ast.Preorder(file) {
				line := pkg.fset.Position(n.Pos()).Line
				switch n := n.(type) {
				case *ast.BasicLit:
					assert.False(t, n.Kind == token.STRING && figure.MatchString(n.Value), "%s:%d: %s", name, line, n.Value)
				case *ast.Ident:
					f, _ := pkg.info.Uses[n].(*types.Func)
					assert.False(t, f != nil && slices.Contains(formatters, f.FullName()), "%s:%d: %v", name, line, f)
				}
			}
		}
	}
}

// maxRecords limits the kinds of records: what is known of the same thing is one record.
const maxRecords = 20

// recordKind matches the name of a kind of records, up to the dot before a part.
var recordKind = regexp.MustCompile(`RecordKind\[.+\]\s*(?:= |\()"([a-z_]+)`)

// TestShapeOfRecords counts the kinds of records in the table of all; those in tables of their own have a schema.
func TestShapeOfRecords(t *testing.T) {
	tables := []string{"agent", "handoff", "convergence", "agent_grant", "spawn"}
	var kinds []string
	walkCode(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "tests/") || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, match := range recordKind.FindAllSubmatch(text, -1) {
			kinds = append(kinds, string(match[1]))
		}
	})
	assert.LessOrEqual(t, len(lo.Uniq(lo.Without(kinds, tables...))), maxRecords, slices.Sorted(slices.Values(lo.Uniq(kinds))))
}
