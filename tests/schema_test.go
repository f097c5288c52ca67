package tests

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mcp-go validates through the module in third_party/jsonschema. These tests
// hold it to what mcp-go expects of the library it stands in for.

const frameSchema = `{
	"type": "object",
	"properties": {
		"goal": {"type": "string", "minLength": 1},
		"status": {"type": "string", "enum": ["completed", "failed"]},
		"children": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
		"limits": {"type": "object", "properties": {"turns": {"type": "integer", "minimum": 1}}, "additionalProperties": false},
		"author": {"$ref": "#/$defs/author"}
	},
	"required": ["goal"],
	"additionalProperties": false,
	"$defs": {"author": {"type": "object", "required": ["name"]}}
}`

func TestToolArgumentsAreValidated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		arguments string
		refused   []string // what the answer names; empty: accepted
	}{
		"all that is declared is accepted": {
			arguments: `{"goal": "a", "status": "failed", "children": ["b"], "limits": {"turns": 2.0}, "author": {"name": "c"}}`,
		},
		"the required alone is enough":       {arguments: `{"goal": "a"}`},
		"a missing argument is named":        {arguments: `{}`, refused: []string{"<root>: required", `"goal"`}},
		"an unknown argument is named":       {arguments: `{"goal": "a", "gaol": 1}`, refused: []string{"<root>:", `"gaol"`}},
		"a wrong type is located":            {arguments: `{"goal": 7}`, refused: []string{"/goal: type", `"string"`}},
		"an empty text is located":           {arguments: `{"goal": ""}`, refused: []string{"/goal: minLength"}},
		"a value out of the enum is located": {arguments: `{"goal": "a", "status": "done"}`, refused: []string{"/status: enum", "done"}},
		"an item is located by its index":    {arguments: `{"goal": "a", "children": ["b", 3]}`, refused: []string{"/children/1: type"}},
		"too many items are located":         {arguments: `{"goal": "a", "children": ["b", "c", "d"]}`, refused: []string{"/children: maxItems"}},
		"a nested fault is located":          {arguments: `{"goal": "a", "limits": {"turns": 0}}`, refused: []string{"/limits/turns: minimum"}},
		"a reference is followed":            {arguments: `{"goal": "a", "author": {}}`, refused: []string{"/author: required", `"name"`}},
		"all faults are told at once":        {arguments: `{"goal": 1, "status": "x", "zz": 1}`, refused: []string{"/goal:", "/status:", "<root>:"}},
		"null is not absence":                {arguments: `{"goal": null}`, refused: []string{"/goal: type"}},
		"a list is not an object":            {arguments: `["goal"]`, refused: []string{"type"}},
	}
	srv := server.NewMCPServer("validation", "1", server.WithInputSchemaValidation())
	srv.AddTool(mcp.NewToolWithRawSchema("frame", "", json.RawMessage(frameSchema)), acceptAnything)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isError, said := callFrame(t, srv, tt.arguments)
			assert.Equal(t, len(tt.refused) > 0, isError, said)
			for _, part := range tt.refused {
				assert.Contains(t, said, part)
			}
		})
	}
}

func TestStartDoesNotCompileMetaSchemas(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	// This test's binary links mcp-go's server, as flame does; it is started
	// here to run no test, only what comes before main.
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	require.NoError(t, err)

	spent := initTimes(t, string(trace))
	require.Contains(t, spent, "runtime", "the trace was not understood")
	require.Contains(t, spent, "github.com/google/jsonschema-go/jsonschema", "mcp-go is not linked")
	// The library itself takes 2.5 ms and more; a package without an init is
	// not in the trace.
	assert.Less(t, spent["github.com/santhosh-tekuri/jsonschema/v6"], 0.3)
}

var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock`)

// initTimes reads a trace of GODEBUG=inittrace=1: package to milliseconds.
func initTimes(t *testing.T, trace string) map[string]float64 {
	t.Helper()
	spent := map[string]float64{}
	for _, m := range initLine.FindAllStringSubmatch(trace, -1) {
		ms, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		spent[m[1]] = ms
	}
	return spent
}

func acceptAnything(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("accepted"), nil
}

// callFrame calls the tool "frame" and returns the result's isError and text.
func callFrame(t *testing.T, srv *server.MCPServer, arguments string) (bool, string) {
	t.Helper()
	message := `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "frame", "arguments": ` + arguments + `}}`
	answer, err := json.Marshal(srv.HandleMessage(t.Context(), json.RawMessage(message)))
	require.NoError(t, err)
	var got struct {
		Result struct {
			IsError bool
			Content []mcp.TextContent
		}
	}
	require.NoError(t, json.Unmarshal(answer, &got), string(answer))
	require.Len(t, got.Result.Content, 1, string(answer))
	return got.Result.IsError, got.Result.Content[0].Text
}
