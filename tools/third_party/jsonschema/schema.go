// Package jsonschema stands in for github.com/santhosh-tekuri/jsonschema/v6, of which
// it declares what mcp-go's server names. It validates nothing, and panics where that
// is wanted: the README of third_party says why it is here.
package jsonschema

import "io"

const unlinked = "validation by mcp-go is not part of this program: remove the server's option that turns it on"

// A Compiler replaces the library's Compiler.
type Compiler struct{}

// NewCompiler panics: schemas are not compiled here.
func NewCompiler() *Compiler { panic(unlinked) }

// AddResource panics.
func (*Compiler) AddResource(string, any) error { panic(unlinked) }

// Compile panics.
func (*Compiler) Compile(string) (*Schema, error) { panic(unlinked) }

// A Schema replaces the library's Schema.
type Schema struct{}

// Validate panics.
func (*Schema) Validate(any) error { panic(unlinked) }

// UnmarshalJSON panics.
func UnmarshalJSON(io.Reader) (any, error) { panic(unlinked) }

// A ValidationError replaces the library's ValidationError; it never occurs.
type ValidationError struct {
	InstanceLocation []string
	ErrorKind        string
	Causes           []*ValidationError
}

// Error panics.
func (*ValidationError) Error() string { panic(unlinked) }
