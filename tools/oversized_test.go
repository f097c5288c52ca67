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

// oversized returns calls of a tool with a huge text in each argument, in every shape, beside those
// that it must have, and as the name of one.
func oversized(t *testing.T, tool tools.Tool) (calls []map[string]any) {
	huge := strings.Repeat("a", 32<<10) // a file instead of its name
	arguments := schemaOf(t, tool)
	with := func(name string, value any) {
		args := map[string]any{}
		for _, must := range arguments.Required {
			args[must] = append(arguments.Properties[must].Enum, "x")[0]
		}
		if tool.Name == "spawn_agent" {
			maps.Copy(args, map[string]any{"prompt": "x", "subagent_type": "builder"})
		}
		args[name] = value
		calls = append(calls, args)
	}
	with(huge, 1)
	with("session_id", huge)
	for name := range arguments.Properties {
		for _, value := range []any{
			huge, []any{huge}, []any{huge, huge}, map[string]any{huge: huge}, []any{map[string]any{"goal": huge}}, []any{map[string]any{huge: 1}},
			map[string]any{huge: 1}, json.RawMessage(strings.Repeat("1", len(huge))),
		} {
			with(name, value)
		}
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
	a.Start = func(context.Context, supervise.StartSpec) (supervise.Process, error) {
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
