package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/supervise"
	"flame/project"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tools"
)

// maxAnswer is how long an error may be, in bytes, whatever was passed.
const maxAnswer = 4096

// A property is what a test passes as an argument, by the schema of it.
type property struct {
	Type       string
	Enum       []string
	Items      *property
	AnyOf      []property
	Properties map[string]property
	Required   []string
}

// values returns an argument of this kind as often as a text can be in it, each time with
// that text.
func (p property) values(text string) (all []any) {
	switch p.Type {
	case "string":
		return []any{text}
	case "array":
		for _, v := range p.Items.values(text) {
			all = append(all, []any{v}, []any{v, v})
		}
	case "object":
		all = append(all, map[string]any{text: text})
		for name, of := range p.Properties {
			for _, v := range of.values(text) {
				all = append(all, map[string]any{name: v})
			}
		}
	case "": // one of several
		for _, of := range p.AnyOf {
			all = append(all, of.values(text)...)
		}
	default: // text is no number
		return []any{text}
	}
	return all
}

// plain returns the arguments that a tool must have.
func (p property) plain() map[string]any {
	args := map[string]any{}
	for _, name := range p.Required {
		text := "x"
		if enum := p.Properties[name].Enum; enum != nil {
			text = enum[0]
		}
		args[name] = p.Properties[name].values(text)[0]
	}
	return args
}

// oversized returns calls of a tool with a huge text in each argument, beside those that it
// must have, and as the name of one.
func oversized(t *testing.T, tool tools.Tool) (calls []map[string]any) {
	t.Helper()
	huge := strings.Repeat("a", 128<<10) // a file instead of its name
	var schema property
	require.NoError(t, json.Unmarshal(tool.Schema(), &schema))
	with := func(name string, value any) {
		args := schema.plain()
		if tool.Name == "spawn_agent" {
			maps.Copy(args, map[string]any{"prompt": "x", "subagent_type": "builder"})
		}
		args[name] = value
		calls = append(calls, args)
	}
	with(huge, 1)
	with("session_id", huge)
	for name, of := range schema.Properties {
		for _, value := range of.values(huge) {
			with(name, value)
		}
		with(name, json.RawMessage(strings.Repeat("1", len(huge))))
		with(name, map[string]any{huge: 1})
	}
	return calls
}

// An error once quoted an argument whole, and so filled the context of the model that had
// made the mistake.
func TestNoErrorQuotesAnArgumentWhole(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), ".data")
	kept := projecttest.Open(t, data, store.Options{LongLived: true})
	a := newAgents(data, kept)
	a.Start = func(context.Context, supervise.Seat) (supervise.Process, error) {
		return supervise.Process{}, errors.New("none is to start")
	}
	for _, tool := range tools.All(a.Project, a) {
		for _, args := range oversized(t, tool) {
			raw, err := json.Marshal(args)
			require.NoError(t, err)
			_, err = tool.Call(context.Background(), project.Caller{Session: "s", Host: "test"}, raw)
			if err == nil {
				continue
			}
			text, _ := tools.Advice(err)
			assert.LessOrEqual(t, len(text), maxAnswer, "%s %.80s: %.300s", tool.Name, raw, text)
		}
	}
}
