package claudecode_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/config/env"
	"flame/core/op"
	"flame/hosts/claudecode"
	"flame/tests/cases"
)

var update = flag.Bool("update", false, "write the plugin's command files from the table of commands")

func TestPluginHasTheCommandsOfTheTable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("plugin", "commands")
	want := map[string]string{}
	for _, c := range op.Commands {
		want[c.Name+".md"] = claudecode.CommandFile(c)
	}
	if *update {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	got := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		got[e.Name()] = string(content)
	}
	assert.Equal(t, want, got, "go test ./hosts/claudecode -update writes them anew")
}

func TestRepositoryIsAMarketplaceOfTheSamePlugin(t *testing.T) {
	t.Parallel()
	file := filepath.Join("../..", claudecode.MarketplaceFile)
	want := claudecode.Marketplace("flame", "Flame, from its repository", "./hosts/claudecode/plugin")
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(content), "go test ./hosts/claudecode -update writes it anew")
	manifest, err := os.ReadFile("plugin/.claude-plugin/plugin.json")
	require.NoError(t, err)
	var plugin struct{ Name, Description string }
	require.NoError(t, json.Unmarshal(manifest, &plugin))
	assert.Equal(t, "flame", plugin.Name)
	assert.Equal(t, env.Summary, plugin.Description)
}

// A person who installs the plugin before flame has to hear of it once in a session, and a session
// must not break.
func TestThePluginsScriptFindsFlameOrSaysWhatToDo(t *testing.T) {
	t.Parallel()
	const echo = "#!/bin/sh\necho \"$0 $*\"\n"
	tests := cases.Read[struct {
		Installed []string // below the home
		Args      []string
		Event     string
		Says      string // on stdout; HOME stands for the home
	}](t, "testdata/script.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(t.TempDir(), "it's home")
			for _, program := range tt.Installed {
				file := filepath.Join(home, program)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(echo), 0o755))
			}
			cmd := exec.Command("plugin/start", tt.Args...)
			cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(home, "path") + ":/usr/bin:/bin"}
			cmd.Stdin = strings.NewReader(tt.Event)
			said, err := cmd.Output()
			require.NoError(t, err)
			assert.Equal(t, strings.ReplaceAll(tt.Says, "HOME", home), string(said))
		})
	}
}

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
