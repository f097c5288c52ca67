package tools

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/samber/lo"
)

// schemaOf returns the closed JSON Schema of an object with these arguments, in the order
// in which models read them. A type without a schema is a programmer's mistake and panics
// at start-up.
func schemaOf(arguments []argument) string {
	return strings.TrimSuffix(openSchemaOf(arguments), "}") + `,"additionalProperties":false}`
}

// briefOf returns the schema without the arguments that are tagged as rare; it is open if there
// are any.
func briefOf(arguments []argument) string {
	usual := lo.Reject(arguments, func(a argument, _ int) bool { return a.Tag.Get("rare") != "" })
	if len(usual) == len(arguments) {
		return schemaOf(arguments)
	}
	return openSchemaOf(usual)
}

func openSchemaOf(arguments []argument) string {
	var properties, required []string
	for _, a := range arguments {
		members := typeOf(a.Type)
		if description := a.Tag.Get("jsonschema"); description != "" {
			members += `,"description":` + inJSON(description)
		}
		if a.values != nil {
			members += `,"enum":` + inJSON(a.values)
		}
		properties = append(properties, inJSON(a.name)+":{"+members+"}")
		if a.required {
			required = append(required, a.name)
		}
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + "}" // some clients refuse a schema without properties
	if required != nil {
		schema += `,"required":` + inJSON(required)
	}
	return schema + "}"
}

// inJSON returns texts, or values that came in JSON, in JSON.
func inJSON(values any) string {
	raw, _ := json.Marshal(values) // they always have a form in JSON
	return string(raw)
}

// A schemaType type of argument has a schema of its own.
type schemaType interface{ schema() string }

// typeOf returns the members of the schema of a type of argument.
func typeOf(t reflect.Type) string {
	t = plain(t)
	if own, is := reflect.Zero(t).Interface().(schemaType); is {
		return own.schema()
	}
	switch t.Kind() {
	case reflect.String:
		return `"type":"string"`
	case reflect.Bool:
		return `"type":"boolean"`
	case reflect.Int, reflect.Int64:
		return `"type":"integer"`
	case reflect.Float64:
		return `"type":"number"`
	case reflect.Map:
		return `"type":"object"`
	case reflect.Struct:
		return strings.TrimSuffix(strings.TrimPrefix(schemaOf(argumentsOf(t)), "{"), "}")
	case reflect.Slice:
		return `"type":"array","items":{` + typeOf(t.Elem()) + "}"
	}
	panic("no schema of " + t.String())
}
