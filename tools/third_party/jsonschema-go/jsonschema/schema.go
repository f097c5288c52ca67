// Package jsonschema stands in for github.com/google/jsonschema-go/jsonschema, of which
// it declares what mcp-go names. It derives no schemas, and panics where that is wanted:
// the README of third_party says why it is here.
package jsonschema

import "reflect"

const unlinked = "schemas derived by mcp-go are not part of this program: give the tool its raw schema"

// ForOptions replaces the library's ForOptions.
type ForOptions struct{ IgnoreInvalidTypes bool }

// For panics: schemas are not derived here.
func For[T any](*ForOptions) (*Schema, error) { panic(unlinked) }

// ForType panics, too.
func ForType(reflect.Type, *ForOptions) (*Schema, error) { panic(unlinked) }

// A Schema has the fields of the library's that mcp-go names.
type Schema struct {
	Type, Description                string
	Types, PropertyOrder, Required   []string
	Enum                             []any
	Items, AdditionalProperties, Not *Schema
	Properties                       map[string]*Schema
}
