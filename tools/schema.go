package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

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

// schemaOf makes the closed schema of a tool's arguments. A type that has none
// is a programmer's mistake: it panics at start.
func schemaOf[In any](tool string) json.RawMessage {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[childArg](): {AnyOf: []*jsonschema.Schema{{Type: "string"}, childSchema()}},
	}})
	if err != nil {
		panic("schema of " + tool + ": " + err.Error())
	}
	trim(schema)
	for field := range fieldsOf(reflect.TypeFor[In]()) {
		if values := enumOf(field.Type); values != nil {
			property := schema.Properties[jsonName(field)]
			property.Enum = make([]any, len(values))
			for i, v := range values {
				property.Enum[i] = v
			}
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

func fieldsOf(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, field := range reflect.VisibleFields(t) {
			if !field.Anonymous && !yield(field) {
				return
			}
		}
	}
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func enumOf(t reflect.Type) []string {
	if e, ok := reflect.Zero(plain(t)).Interface().(enum); ok {
		return e.Values()
	}
	return nil
}

// plain is the type of an argument, whether or not it may be left out.
func plain(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// decode reads raw into the arguments in, a pointer to a struct, and then the line
// that they may be instead. Its errors name the argument and what was expected.
func decode(raw json.RawMessage, in any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(in); err != nil {
		return explain(err, reflect.TypeOf(in).Elem())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return core.Invalidf("there is more than one JSON object").WithHint("send one object with all arguments")
	}
	if err := check(raw, reflect.ValueOf(in).Elem()); err != nil {
		return err
	}
	if typed, ok := in.(slashed); ok && typed.command() != "" {
		return fromLine(typed)
	}
	return nil
}

// explain says what an error of encoding/json means for the caller.
func explain(err error, t reflect.Type) error {
	var problem *core.Problem
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return core.Invalidf("argument %s is a %s", wrongType.Field, wrongType.Value).
			WithHint("it must be %s", expected(wrongType.Type))
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.TrimPrefix(err.Error(), "json: unknown field ")
		return core.Invalidf("there is no argument %s", name).WithHint("%s", arguments(t))
	}
	return core.Invalidf("the arguments are not valid JSON: %v", err).WithHint("%s", arguments(t))
}

// arguments lists what a tool takes.
func arguments(t reflect.Type) string {
	var names []string
	for field := range fieldsOf(t) {
		name := jsonName(field)
		if required(field) {
			name += " (required)"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "this tool takes no arguments"
	}
	return "it takes " + strings.Join(names, ", ")
}

func required(field reflect.StructField) bool {
	return !strings.Contains(field.Tag.Get("json"), ",omitempty")
}

// check refuses missing arguments and values outside an enum.
func check(raw json.RawMessage, v reflect.Value) error {
	var present map[string]json.RawMessage
	if err := json.Unmarshal(raw, &present); err != nil {
		return err
	}
	for field := range fieldsOf(v.Type()) {
		name := jsonName(field)
		value, given := present[name]
		given = given && string(value) != "null"
		if required(field) && !given {
			return core.Invalidf("argument %s is missing", name).WithHint("%s", arguments(v.Type()))
		}
		values := enumOf(field.Type)
		if values == nil || !given {
			continue
		}
		var got string
		if err := json.Unmarshal(value, &got); err != nil || !slices.Contains(values, got) {
			return core.Invalidf("argument %s is %q", name, got).WithHint("it must be one of %s", strings.Join(values, ", "))
		}
	}
	return nil
}

// expected names a Go type as a caller knows it.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	}
	return "text"
}
