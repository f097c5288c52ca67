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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
