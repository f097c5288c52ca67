package tests

import (
	"go/types"
	"maps"
	"slices"
)

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
