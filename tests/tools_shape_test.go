package tests

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestShapeOfTools requires that the file which defines a tool also has its arguments and its
// function; arguments.go has shared arguments.
func TestShapeOfTools(t *testing.T) {
	defined := map[string]bool{}
	for _, pkg := range productCode(t) {
		if pkg.path != "tools" {
			continue
		}
		for _, file := range pkg.files {
			ast.Inspect(file, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok || len(call.Args) < 4 || !isDefinition(call) {
					return true
				}
				name := types.ExprString(call.Args[0])
				if name == "name" {
					return true // define's own call of defineResult
				}
				assert.False(t, defined[name], "%s is defined twice", name)
				defined[name] = true
				run, ok := call.Args[3].(*ast.SelectorExpr)
				if !ok {
					return true // it is declared there
				}
				method := pkg.info.Uses[run.Sel].(*types.Func)
				arguments := method.Signature().Params().At(2).Type().(*types.Named).Obj()
				for _, part := range []types.Object{method, arguments} {
					file := pkg.file(part.Pos())
					assert.Contains(t, []string{pkg.file(call.Pos()), "arguments.go"}, file, "%s: %s is in another file", name, part.Name())
				}
				return true
			})
		}
	}
	assert.Greater(t, len(defined), 30, "the definitions were not found")
}

// isDefinition reports whether a call defines a tool.
func isDefinition(call *ast.CallExpr) bool {
	callee, ok := call.Fun.(*ast.Ident)
	return ok && strings.HasPrefix(callee.Name, "define")
}
