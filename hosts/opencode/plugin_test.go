package opencode_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// configured loads the plugin into Node, lets its config hook work on config
// and gives what became of it. Node is asked for nothing but the file itself.
func configured(t *testing.T, home, config string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no Node on PATH to run the plugin in; the tests with the real OpenCode run it as well")
	}
	plugin, err := os.ReadFile("flame.js")
	require.NoError(t, err)
	module := filepath.Join(t.TempDir(), "flame.mjs")
	require.NoError(t, os.WriteFile(module, plugin, 0o600))
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", `
		const { Flame } = await import(process.argv[1])
		const config = JSON.parse(process.argv[2])
		await (await Flame()).config(config)
		process.stdout.write(JSON.stringify(config))`, module, config)
	cmd.Env = []string{"HOME=" + home, "PATH=/nowhere"}
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

func TestPluginConfiguresOpenCode(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), `it's "home"`)
	flame := filepath.Join(home, ".local", "bin", "flame")
	require.NoError(t, os.MkdirAll(filepath.Dir(flame), 0o755))
	require.NoError(t, os.WriteFile(flame, nil, 0o755))
	const ours = `{"flame": {"type": "local", "command": ["FLAME", "serve"]}}`
	added := []string{"flame:pop", "flame:push", "flame:status"}
	tests := map[string]struct {
		home, config string
		mcp          string // afterwards; empty: none
		commands     []string
	}{
		"adds server and commands": {
			home: home, config: `{}`, mcp: ours, commands: added,
		},
		"keeps the user's other servers and commands": {
			home: home, config: `{"mcp": {"other": {"type": "local"}}, "command": {"mine": {}, "flame:push": {}}}`,
			mcp:      `{"other": {"type": "local"}, ` + ours[1:],
			commands: append([]string{"mine"}, added...),
		},
		"leaves a server of the user's own alone": {
			home: home, config: `{"mcp": {"flame": {"command": ["x"]}}}`, mcp: `{"flame": {"command": ["x"]}}`, commands: added,
		},
		"knows flame under another name": {
			home: home, config: `{"mcp": {"f": {"command": ["/opt/flame"]}}}`, mcp: `{"f": {"command": ["/opt/flame"]}}`, commands: added,
		},
		"does nothing where the user switched flame off": {
			home: home, config: `{"mcp": {"flame": {"enabled": false}}}`, mcp: `{"flame": {"enabled": false}}`,
		},
		"does nothing without a flame to start": {home: "/nowhere", config: `{}`},
		"survives a configuration that makes no sense": {
			home: home, config: `{"mcp": {"a": null, "b": {"command": 7}}}`, mcp: `{"a": null, "b": {"command": 7}, ` + ours[1:], commands: added,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var after struct {
				MCP     json.RawMessage
				Command map[string]any
			}
			require.NoError(t, json.Unmarshal([]byte(configured(t, tt.home, tt.config)), &after))
			assert.ElementsMatch(t, tt.commands, slices.Collect(maps.Keys(after.Command)))
			if tt.mcp == "" {
				assert.Empty(t, after.MCP)
				return
			}
			path, err := json.Marshal(flame)
			require.NoError(t, err)
			assert.JSONEq(t, strings.ReplaceAll(tt.mcp, `"FLAME"`, string(path)), string(after.MCP))
		})
	}
}
