package claudecode_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/op"
	"flame/hosts/claudecode"
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
	content, err := os.ReadFile("../../.claude-plugin/marketplace.json")
	require.NoError(t, err)
	var marketplace struct {
		Plugins []struct{ Name, Source string }
	}
	require.NoError(t, json.Unmarshal(content, &marketplace))
	require.Len(t, marketplace.Plugins, 1)
	assert.Equal(t, "flame", marketplace.Plugins[0].Name)
	assert.FileExists(t, filepath.Join("../..", marketplace.Plugins[0].Source, ".claude-plugin", "plugin.json"))
}
