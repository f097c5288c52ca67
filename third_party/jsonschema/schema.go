// Package jsonschema validates JSON values against JSON Schemas. It offers the
// part of github.com/santhosh-tekuri/jsonschema/v6 that mcp-go uses, without
// that library's work at package initialisation (README.md has the figures).
package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Compiler turns schema documents into Schemas.
type Compiler struct {
	documents map[string]any
}

// NewCompiler returns a Compiler that knows no documents.
func NewCompiler() *Compiler {
	return &Compiler{documents: map[string]any{}}
}

// AddResource makes doc, a decoded JSON Schema, known as url.
func (c *Compiler) AddResource(url string, doc any) error {
	if _, ok := c.documents[url]; ok {
		return fmt.Errorf("schema %s was added before", url)
	}
	c.documents[url] = doc
	return nil
}

// Compile gives the Schema that was added as url. References may point inside
// that document only.
func (c *Compiler) Compile(url string) (*Schema, error) {
	doc, ok := c.documents[url]
	if !ok {
		return nil, fmt.Errorf("schema %s was not added", url)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", url, err)
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(data, root); err != nil {
		return nil, fmt.Errorf("schema %s: %w", url, err)
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", url, err)
	}
	return &Schema{root: root, resolved: resolved}, nil
}

// A Schema is a compiled JSON Schema, safe for concurrent use.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Validate checks v, a value as UnmarshalJSON gives it. The error is a
// *ValidationError with one cause for each fault that could be located.
func (s *Schema) Validate(v any) error {
	err := s.resolved.Validate(v)
	if err == nil {
		return nil
	}
	causes := s.faults(s.root, v, nil)
	if len(causes) == 0 {
		causes = []*ValidationError{{ErrorKind: reason(err)}}
	}
	return &ValidationError{ErrorKind: "does not match the schema", Causes: causes}
}

// UnmarshalJSON decodes the one JSON value in r.
func UnmarshalJSON(r io.Reader) (any, error) {
	dec := json.NewDecoder(r)
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}
