package jsonschema

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxReason bounds what is said about one fault, in bytes: the validator
// quotes the value, which may be as large as a message can be.
const maxReason = 400

// A ValidationError says how a value differs from its schema: by its causes,
// or, where it has none, by itself.
type ValidationError struct {
	// InstanceLocation is the way to the value at fault: names of properties
	// and indexes of items, from the outside in.
	InstanceLocation []string
	// ErrorKind is what is wrong there.
	ErrorKind string
	Causes    []*ValidationError
}

// Error gives the location and kind of every fault, separated by semicolons.
func (e *ValidationError) Error() string {
	if len(e.Causes) == 0 {
		return "/" + strings.Join(e.InstanceLocation, "/") + ": " + e.ErrorKind
	}
	said := make([]string, len(e.Causes))
	for i, cause := range e.Causes {
		said[i] = cause.Error()
	}
	return strings.Join(said, "; ")
}

// faults locates what is wrong with v, which lies at the location at and is
// described by part of the schema. The validator stops at the first fault, in
// random order, and names the place in the schema but not in the value, so each
// property and item is looked at by itself.
func (s *Schema) faults(part *jsonschema.Schema, v any, at []string) []*ValidationError {
	var found []*ValidationError
	if err := s.checkAlone(part, v); err != nil {
		found = append(found, &ValidationError{InstanceLocation: at, ErrorKind: reason(err)})
	}
	inside := func(part *jsonschema.Schema, v any, step string) {
		found = append(found, s.faults(part, v, append(slices.Clip(at), step))...)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if property := part.Properties[name]; property != nil {
				inside(property, v[name], name)
			}
		}
	case []any:
		for i, item := range v {
			if part.Items != nil && i >= len(part.PrefixItems) {
				inside(part.Items, item, strconv.Itoa(i))
			}
		}
	}
	return found
}

// checkAlone validates v against part, leaving out what part says about single
// properties and items. A part with references that the root's definitions do
// not answer is not judged: it has no error of its own.
func (s *Schema) checkAlone(part *jsonschema.Schema, v any) error {
	alone := *part
	alone.Schema, alone.Defs, alone.Definitions = s.root.Schema, s.root.Defs, s.root.Definitions
	alone.Properties = make(map[string]*jsonschema.Schema, len(part.Properties))
	for name := range part.Properties {
		alone.Properties[name] = &jsonschema.Schema{}
	}
	if part.Items != nil {
		alone.Items = &jsonschema.Schema{}
	}
	resolved, err := alone.Resolve(nil)
	if err != nil {
		return nil
	}
	return resolved.Validate(v)
}

// reason is the innermost message of err: the layers above it name parts of
// the schema.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	said := err.Error()
	if len(said) > maxReason {
		said = strings.ToValidUTF8(said[:maxReason], "") + " ..."
	}
	return said
}
