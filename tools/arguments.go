package tools

import (
	"reflect"
	"strings"
)

// An argument is one field of a tool's arguments.
type argument struct {
	reflect.StructField
	name     string // in JSON
	required bool
	values   []string // allowed values; nil: any
}

// argumentsOf returns the arguments of a tool that takes a t, a struct.
func argumentsOf(t reflect.Type) (all []argument) {
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		values := enumOf(field.Type)
		if words := field.Tag.Get("enum"); words != "" {
			values = strings.Split(words, ",")
		}
		all = append(all, argument{field, name, options != "omitempty", values})
	}
	return all
}

// An enum is an argument type with a fixed set of values, most often a core.Enum of
// the operation behind the tool. A tag "enum" does the same for text.
type enum interface{ Values() []string }

// enumOf returns the values allowed for a t; nil: any.
func enumOf(t reflect.Type) []string {
	if e, ok := reflect.Zero(plain(t)).Interface().(enum); ok {
		return e.Values()
	}
	return nil
}

// plain returns the type of an argument, whether or not it is optional.
func plain(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// taken lists the arguments of a tool, for a hint.
func taken(arguments []argument) string {
	var names []string
	for _, a := range arguments {
		if a.required {
			a.name += " (required)"
		}
		names = append(names, a.name)
	}
	if len(names) == 0 {
		return "this tool takes no arguments"
	}
	return "it takes " + strings.Join(names, ", ")
}

// expected returns a caller's name for a Go type.
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

// noArgs is the argument type of tools that take none.
type noArgs struct{}

// frameArgs is the argument type of tools that look at one frame.
type frameArgs struct {
	FrameID string `json:"frameID,omitempty"`
}

// oneRef returns the frame that a call names by the first description's argument or ours.
func oneRef(sessionID, frameID string) (string, error) {
	if sessionID != "" && frameID != "" && sessionID != frameID {
		return "", differentFrames()
	}
	if sessionID != "" {
		return sessionID, nil
	}
	return frameID, nil
}
