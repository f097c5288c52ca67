package tools

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/samber/lo"
)

// schemaOf returns the closed schema of a tool's arguments. A type without one
// is a programmer's mistake and panics at start-up.
func schemaOf[In any](tool string, arguments []argument) json.RawMessage {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: ownSchemas(arguments)})
	if err != nil {
		panic("schema of " + tool + ": " + err.Error())
	}
	trim(schema)
	for _, a := range arguments {
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

// A described type of argument has a schema of its own.
type described interface{ schema() *jsonschema.Schema }

// ownSchemas returns the schemas of the described types among the arguments,
// including those of list elements.
func ownSchemas(arguments []argument) map[reflect.Type]*jsonschema.Schema {
	own := map[reflect.Type]*jsonschema.Schema{}
	for _, a := range arguments {
		t := plain(a.Type)
		if t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if d, ok := reflect.Zero(t).Interface().(described); ok {
			own[t] = d.schema()
		}
	}
	return own
}

// trim drops what costs tokens without adding meaning: null beside the type of
// an optional argument, and that an object may have any properties.
func trim(schema *jsonschema.Schema) {
	if rest := schema.AdditionalProperties; rest != nil && reflect.DeepEqual(*rest, jsonschema.Schema{}) {
		schema.AdditionalProperties = nil
	}
	if i := slices.Index(schema.Types, "null"); i >= 0 && len(schema.Types) == 2 {
		schema.Type, schema.Types = schema.Types[1-i], nil
	}
	for _, property := range schema.Properties {
		trim(property)
	}
}
