package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// A schema is the JSON Schema of a tool's arguments, or of one of them, with the few
// keywords that tools use. Its fields are in the order in which models read them.
type schema struct {
	Type        string     `json:"type,omitempty"`
	Properties  properties `json:"properties,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	AnyOf       []schema   `json:"anyOf,omitempty"`
	Description string     `json:"description,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Required    []string   `json:"required,omitempty"`
	Others      *bool      `json:"additionalProperties,omitempty"` // whether there may be other properties; nil: yes
}

// properties are those of an object, in order.
type properties []property

type property struct {
	name string
	schema
}

// MarshalJSON returns an object with a member for each property.
func (list properties) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, p := range list {
		name, _ := json.Marshal(p.name) // text
		value, err := json.Marshal(p.schema)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%s:%s", name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schemaOf returns the closed schema of a tool's arguments. A type without one is a
// programmer's mistake and panics at start-up.
func schemaOf(tool string, arguments []argument) json.RawMessage {
	raw, err := json.Marshal(objectOf(arguments))
	if err != nil {
		panic("schema of " + tool + ": " + err.Error())
	}
	return raw
}

// objectOf returns the schema of an object with these arguments and no others.
func objectOf(arguments []argument) schema {
	object := schema{Type: "object", Others: new(bool)}
	for _, a := range arguments {
		s := typeOf(a.Type)
		s.Description, s.Enum = a.Tag.Get("jsonschema"), a.values
		object.Properties = append(object.Properties, property{a.name, s})
		if a.required {
			object.Required = append(object.Required, a.name)
		}
	}
	return object
}

// A described type of argument has a schema of its own.
type described interface{ schema() schema }

// typeOf returns the schema of the values that a type of argument keeps.
func typeOf(t reflect.Type) schema {
	t = plain(t)
	if own, is := reflect.Zero(t).Interface().(described); is {
		return own.schema()
	}
	switch t.Kind() {
	case reflect.String:
		return schema{Type: "string"}
	case reflect.Bool:
		return schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return schema{Type: "integer"}
	case reflect.Float64:
		return schema{Type: "number"}
	case reflect.Map:
		return schema{Type: "object"}
	case reflect.Slice:
		items := typeOf(t.Elem())
		return schema{Type: "array", Items: &items}
	}
	panic("no schema of " + t.String())
}
