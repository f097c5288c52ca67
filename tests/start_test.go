package tests

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/effort"
)

// The modules in tools/third_party declare only what mcp-go needs of two libraries to compile.
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

// The limits of flame's work before main, independent of the machine: hosts wait for each hook to
// start. Packages make rarely needed values at their first use. A change that needs more says so
// here, and in its commit.
const (
	maxLinked    = 373     // packages, those of Go included
	maxMade      = 440_000 // bytes that all packages allocate before main
	maxAllocated = 4_000   // allocations
	maxMadeByOne = 20_000  // bytes that one package of flame's allocates
)

func TestStartMakesOnlyCommonValues(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(flameBinary(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^init (\S+) @.* ms clock, (\d+) bytes, (\d+) allocs`).FindAllStringSubmatch(string(trace), -1)
	require.NotEmpty(t, found, "the trace was not understood")
	bytes, allocs := 0, 0
	for _, m := range found {
		made, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		times, err := strconv.Atoi(m[3])
		require.NoError(t, err)
		bytes, allocs = bytes+made, allocs+times
		if strings.HasPrefix(m[1], "flame/") {
			assert.LessOrEqual(t, made, maxMadeByOne, "bytes that %s makes before main", m[1])
		}
		assert.NotContains(t, m[1], "/jsonschema", "it is replaced in go.mod, as its init is dear")
	}
	assert.LessOrEqual(t, bytes, maxMade, "bytes")
	assert.LessOrEqual(t, allocs, maxAllocated, "allocations")
}

func TestFlameLinksNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	list, err := cmd.Output()
	require.NoError(t, err)
	packages := strings.Fields(string(list))
	assert.LessOrEqual(t, len(packages), maxLinked, "packages")
}

func TestTheLinkerLeavesOutWhatFlameDoesNotCall(t *testing.T) {
	t.Parallel()
	effort.Heavy(t) // it links flame once more
	// With templates the linker cannot tell which methods are called by name, and keeps all.
	dump := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-dumpdep", "-o", os.DevNull, ".")
	dump.Dir, dump.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	linked, err := dump.CombinedOutput()
	require.NoError(t, err)
	assert.NotContains(t, string(linked), "<ReflectMethod>", "a function by which the linker keeps every exported method")
}
