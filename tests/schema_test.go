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

// The module in third_party/jsonschema declares what mcp-go's validation of arguments
// needs to be built, and nothing more.
func TestAServerThatValidatesFailsAtItsFirstCall(t *testing.T) {
	t.Parallel()
	srv := server.NewMCPServer("validation", "1", server.WithInputSchemaValidation())
	srv.AddTool(mcp.NewToolWithRawSchema("frame", "", json.RawMessage(`{"type": "object"}`)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("accepted"), nil
		})
	call := json.RawMessage(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "frame", "arguments": {}}}`)
	assert.Panics(t, func() { srv.HandleMessage(t.Context(), call) })
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

// TestStartMakesNothingThatMostProcessesDoNotNeed counts what is allocated before main,
// which does not depend on the machine: hosts wait for each hook to begin. What only some
// processes need is made when it is first asked for.
func TestStartMakesNothingThatMostProcessesDoNotNeed(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(flameBinary(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^init (flame/\S+) @.* ms clock, (\d+) bytes`).FindAllStringSubmatch(string(trace), -1)
	require.NotEmpty(t, found, "the trace was not understood")
	for _, m := range found {
		bytes, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		assert.Less(t, bytes, 160_000, "%s makes too much before main", m[1])
	}
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
