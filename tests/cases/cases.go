// Package cases has what tables of tests share: their cases, and what they ask of errors.
package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"flame/core"
)

// Read returns the cases in a file of YAML, by name. Their fields have the names of their JSON.
func Read[T any](t testing.TB, file string) map[string]T {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, yaml.Unmarshal(text, &all))
	raw, err := json.Marshal(all)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var cases map[string]T
	require.NoError(t, decoder.Decode(&cases))
	require.NotEmpty(t, cases)
	return cases
}

// Advice checks that an error of these kinds is one that a user or model can act on, and returns
// its text with the hint.
func Advice(t testing.TB, err error, kinds ...error) string {
	for _, kind := range kinds {
		require.ErrorIs(t, err, kind)
	}
	var p *core.Problem
	require.ErrorAs(t, err, &p)
	assert.NotEmpty(t, p.Hint, "no advice: %v", err)
	return p.Error() + " " + p.Hint
}

// Fill gives every field of the struct that v points to a value that no other has; n is the last one given.
func Fill(v any, n *int) { fill(reflect.ValueOf(v).Elem(), n) }

func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, *n))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	default:
		panic(v.Kind())
	}
}
