package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A codePackage is one package of the product, parsed and type-checked for Linux without its
// tests.
type codePackage struct {
	path  string // below the module; empty for its root
	fset  *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// file returns the name of the file that holds pos.
func (p *codePackage) file(pos token.Pos) string {
	return filepath.Base(p.fset.Position(pos).Filename)
}

// checked are the packages of the product, made once for all tests.
var checked struct {
	once sync.Once
	code []*codePackage
	err  error
}

// productCode returns flame's packages, each after its imports, without packages that only serve
// tests.
func productCode(t *testing.T) []*codePackage {
	checked.once.Do(func() { checked.code, checked.err = checkCode() })
	require.NoError(t, checked.err)
	return checked.code
}

// A listedPackage is the go command's description of a package.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// checkCode checks flame's own packages from source. It takes other packages from the compiler's
// export data, which is faster.
func checkCode() (code []*codePackage, err error) {
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", ".", "./flame-hub")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports, own := map[string]string{}, map[string]*types.Package{}
	fset := token.NewFileSet()
	kept := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return code, nil
		case err != nil:
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.ImportPath != "flame" && !strings.HasPrefix(p.ImportPath, "flame/") {
			continue
		}
		pkg, err := checkPackage(fset, p, ownFirst{own, kept})
		if err != nil {
			return nil, err
		}
		own[p.ImportPath] = pkg.types
		code = append(code, pkg)
	}
}

func checkPackage(fset *token.FileSet, p listedPackage, from types.Importer) (*codePackage, error) {
	pkg := &codePackage{
		path: strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, "flame"), "/"), fset: fset,
		info: &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}},
	}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		pkg.files = append(pkg.files, file)
	}
	var err error
	pkg.types, err = (&types.Config{Importer: from}).Check(p.ImportPath, fset, pkg.files, pkg.info)
	return pkg, err
}

// ownFirst imports flame's packages as checked, so that a name is the same object everywhere.
type ownFirst struct {
	own  map[string]*types.Package
	kept types.Importer
}

// Import returns the package of that path.
func (f ownFirst) Import(path string) (*types.Package, error) {
	if pkg, ok := f.own[path]; ok {
		return pkg, nil
	}
	return f.kept.Import(path)
}

// An arrow leads from a file to another of its package that it uses.
type arrow struct{ from, to int }

// arrows returns the uses between the files of a package, one for each pair of files: uses of
// top-level names, methods and fields.
func arrows(pkg *codePackage) (files []string, found []arrow) {
	number := map[string]int{}
	for i, file := range pkg.files {
		number[pkg.file(file.Pos())] = i
		files = append(files, pkg.file(file.Pos()))
	}
	seen := map[arrow]bool{}
	for name, used := range pkg.info.Uses {
		if used.Pkg() != pkg.types || !declared(used) {
			continue
		}
		if a := (arrow{number[pkg.file(name.Pos())], number[pkg.file(used.Pos())]}); a.from != a.to {
			seen[a] = true
		}
	}
	found = slices.SortedFunc(maps.Keys(seen), func(a, b arrow) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	return files, found
}

// declared reports whether an object is visible in all files of its package.
func declared(object types.Object) bool {
	switch o := object.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return o.IsField() || o.Parent() == o.Pkg().Scope()
	case *types.TypeName, *types.Const:
		return o.Parent() == o.Pkg().Scope()
	}
	return false
}

// generators generate documents, manual pages and the plugins' files from code, for tests and
// releases.
var generators = []string{
	"cli.All", "cli.Docs", "hosts/claudecode.commandFile", "hosts/claudecode.hooksFile", "hosts/opencode.Package",
}

// onlyTests are the names that only tests use; they are to be removed, or used.
var onlyTests = []string{}

// TestShapeOfUnusedNames finds top-level names and methods that the program does not use, or only
// its tests.
func TestShapeOfUnusedNames(t *testing.T) {
	code := productCode(t)
	uses := map[types.Object][]types.Object{} // the uses in its declaration
	var roots, all []types.Object
	for _, pkg := range code {
		for _, name := range pkg.types.Scope().Names() {
			all = append(all, pkg.types.Scope().Lookup(name))
		}
		for _, file := range pkg.files {
			for _, decl := range file.Decls {
				for _, part := range parts(decl) {
					by, used := owners(pkg, part), usedIn(pkg, part)
					if len(by) == 0 {
						roots = append(roots, used...) // var _ = …
					}
					for _, owner := range by {
						uses[owner] = append(uses[owner], used...)
					}
				}
			}
		}
	}
	for _, object := range all {
		if name := nameOf(object); name == "flame.main" || name == "flame-hub.main" || slices.Contains(generators, name) {
			roots = append(roots, object)
		}
	}
	live := reached(roots, uses)
	dead := unusedMethods(code)
	for _, object := range all {
		if !live[object] {
			dead = append(dead, nameOf(object))
		}
	}
	assert.ElementsMatch(t, onlyTests, dead, "B is used by nothing, or by tests alone; what only A has leaves onlyTests")
}

func nameOf(object types.Object) string {
	return strings.TrimPrefix(object.Pkg().Path(), "flame/") + "." + object.Name()
}

// reached returns the roots and everything that they use, directly or not.
func reached(roots []types.Object, uses map[types.Object][]types.Object) map[types.Object]bool {
	live := map[types.Object]bool{}
	for len(roots) > 0 {
		object := roots[0]
		roots = roots[1:]
		if !live[object] {
			live[object] = true
			roots = append(roots, uses[object]...)
		}
	}
	return live
}

// unusedMethods returns the methods that neither code nor an interface names: methods of an
// interface may be called through it.
func unusedMethods(code []*codePackage) (dead []string) {
	asked, seen := map[string]bool{"Unwrap": true}, map[*types.Package]bool{} // package errors asks for it without a name
	named := map[types.Object]bool{}
	for _, pkg := range code {
		interfaceMethods(pkg.types, asked, seen)
		for _, used := range pkg.info.Uses {
			if f, ok := used.(*types.Func); ok {
				named[f.Origin()] = true
			}
		}
	}
	for _, pkg := range code {
		for name, object := range pkg.info.Defs {
			f, ok := object.(*types.Func)
			if !ok || f.Signature().Recv() == nil || types.IsInterface(f.Signature().Recv().Type()) {
				continue
			}
			if !named[f] && !asked[f.Name()] {
				dead = append(dead, nameOf(owners(pkg, &ast.FuncDecl{Recv: &ast.FieldList{}, Name: name})[0])+"."+f.Name())
			}
		}
	}
	return dead
}

// interfaceMethods adds the names of the methods in the interfaces of a package and of its
// imports.
func interfaceMethods(pkg *types.Package, asked map[string]bool, seen map[*types.Package]bool) {
	if seen[pkg] {
		return
	}
	seen[pkg] = true
	for _, name := range pkg.Scope().Names() {
		if t, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Interface); ok {
			for f := range t.Methods() {
				asked[f.Name()] = true
			}
		}
	}
	for _, imported := range pkg.Imports() {
		interfaceMethods(imported, asked, seen)
	}
}

// parts returns the pieces of a declaration that are used separately. The constants of one block
// are one piece: an enumeration is whole.
func parts(decl ast.Decl) (nodes []ast.Node) {
	d, ok := decl.(*ast.GenDecl)
	if !ok || d.Tok.String() == "const" {
		return []ast.Node{decl}
	}
	for _, spec := range d.Specs {
		nodes = append(nodes, spec)
	}
	return nodes
}

// owners returns the objects that a piece declares; for a method, its type.
func owners(pkg *codePackage, node ast.Node) (found []types.Object) {
	names := func(list ...*ast.Ident) {
		for _, name := range list {
			if object := pkg.info.Defs[name]; object != nil && name.Name != "_" {
				found = append(found, object)
			}
		}
	}
	switch n := node.(type) {
	case *ast.FuncDecl:
		if n.Recv == nil {
			names(n.Name)
			break
		}
		f, ok := pkg.info.Defs[n.Name].(*types.Func)
		if !ok {
			break
		}
		t := f.Signature().Recv().Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if named, ok := t.(*types.Named); ok {
			found = append(found, named.Obj())
		}
	case *ast.TypeSpec:
		names(n.Name)
	case *ast.ValueSpec:
		names(n.Names...)
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				names(v.Names...)
			}
		}
	}
	return found
}

// usedIn returns flame's objects that a piece uses; in a block of constants, the others.
func usedIn(pkg *codePackage, node ast.Node) (found []types.Object) {
	ast.Inspect(node, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if used := pkg.info.Uses[name]; used != nil && used.Pkg() != nil && used.Parent() == used.Pkg().Scope() {
			found = append(found, used)
		}
		return true
	})
	if d, ok := node.(*ast.GenDecl); ok {
		found = append(found, owners(pkg, d)...)
	}
	return found
}
