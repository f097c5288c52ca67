package tools

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/samber/lo"

	"flame/core"
)

// An enum is an argument type with a fixed set of values, most often a core.Word of
// the operation behind the tool; schema and decoding both take them from it.
type enum interface{ Values() []string }

type endStatus string

func (endStatus) Values() []string { return []string{"completed", "failed", "blocked"} }

type anyStatus string

func (anyStatus) Values() []string { return core.Words(core.Statuses...) }

type autonomyLevel string

func (autonomyLevel) Values() []string { return []string{"manual", "suggest", "auto"} }

type subagentFilter string

func (subagentFilter) Values() []string {
	return []string{"all", "active", "completed", "with-frame", "without-frame"}
}

// schemaOf returns the closed schema of a tool's arguments. A type that has none
// is a programmer's mistake: it panics at start.
func schemaOf[In any](tool string) json.RawMessage {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[childArg](): {AnyOf: []*jsonschema.Schema{{Type: "string"}, childSchema()}},
	}})
	if err != nil {
		panic("schema of " + tool + ": " + err.Error())
	}
	trim(schema)
	for _, a := range argumentsOf(reflect.TypeFor[In]()) {
		if a.values != nil {
			schema.Properties[a.name].Enum = lo.ToAnySlice(a.values)
		}
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic("schema of " + tool + ": " + err.Error())
	}
	return raw
}

func childSchema() *jsonschema.Schema {
	schema, err := jsonschema.For[childObject](nil)
	if err != nil {
		panic(err)
	}
	return schema
}

// trim drops what costs tokens and says nothing: null beside the type of an
// optional argument.
func trim(schema *jsonschema.Schema) {
	if i := slices.Index(schema.Types, "null"); i >= 0 && len(schema.Types) == 2 {
		schema.Type, schema.Types = schema.Types[1-i], nil
	}
	for _, property := range schema.Properties {
		trim(property)
	}
}

// enumOf returns the values that a t may have; nil: any.
func enumOf(t reflect.Type) []string {
	if e, ok := reflect.Zero(plain(t)).Interface().(enum); ok {
		return e.Values()
	}
	return nil
}

// plain returns the type of an argument, whether or not it may be left out.
func plain(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
