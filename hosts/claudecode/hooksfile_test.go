package claudecode_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/claudecode"
)

func TestHooksFileIsMadeFromTheTable(t *testing.T) {
	t.Parallel()
	const file = "plugin/hooks/hooks.json"
	want := claudecode.HooksFile(false)
	if *update {
		require.NoError(t, os.MkdirAll("plugin/hooks", 0o755))
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have), "run go test ./hosts/claudecode -update")
}

// A tool that writes files has the whole file in its call, and both the old and the new one in
// its answer: the server read them again and again, and used none of it.
func TestCallsForAWrittenFileHaveOnlyItsName(t *testing.T) {
	t.Parallel()
	raw := claudecode.HooksFile(true)
	var file struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct{ Input map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	inputs := map[string]map[string]any{}
	for _, m := range file.Hooks["PostToolUse"] {
		inputs[m.Matcher] = m.Hooks[0].Input
	}
	files, others := inputs["^(Write|Edit|MultiEdit|NotebookEdit)$"], inputs["^(Agent|Task|TaskStop|KillShell|TaskCreate|TaskUpdate|TodoWrite|ExitPlanMode)$"]
	require.Len(t, inputs, 2)
	assert.Equal(t, map[string]any{"file_path": "${tool_input.file_path}", "notebook_path": "${tool_input.notebook_path}"}, files["tool_input"])
	assert.NotContains(t, files, "tool_response")
	assert.Equal(t, "${tool_input}", others["tool_input"])
	assert.Equal(t, "${tool_response}", others["tool_response"])
	delete(others, "tool_response")
	others["tool_input"] = files["tool_input"]
	assert.Equal(t, others, files, "all other fields are passed on")
}
