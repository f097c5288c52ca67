package definition_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/hosts"
	"flame/tests/cases"
	"flame/tests/hoststest"
)

func TestBuiltinAgentsHaveToolsInEachHost(t *testing.T) {
	tests := map[string]struct {
		mode            hosts.Mode
		writes, runs    bool
		tests, searches bool
	}{
		"builder":   {hosts.ModeAcceptEdits, true, true, true, false},
		"tester":    {hosts.ModePlan, false, false, true, false},
		"analyzer":  {hosts.ModePlan, false, false, false, false},
		"retriever": {hosts.ModePlan, false, false, false, true},
	}
	inHosts := map[string]struct{ read, edit, write, shell, search string }{
		"claude-code": {"Read", "Edit", "Write", "Bash", "WebSearch"},
		"opencode":    {"read", "edit", "apply_patch", "bash", "websearch"},
	}
	catalog := definition.Load(hoststest.Known(), nil)
	for name, tt := range tests {
		def, err := catalog.Find(name)
		require.NoError(t, err)
		assert.Equal(t, name, def.Type)
		assert.Equal(t, tt.mode, def.PermissionMode, name)
		for host, tool := range inHosts {
			inHost := def.TranslateFor(hoststest.Known(), host)
			require.NotNil(t, inHost.Tools)
			has := func(name string) bool { return slices.Contains(*inHost.Tools, name) }
			assert.True(t, has(tool.read), "%s in %s", name, host)
			assert.Equal(t, tt.writes, has(tool.edit), "%s in %s", name, host)
			assert.Equal(t, tt.writes, has(tool.write), "%s in %s", name, host)
			assert.Equal(t, tt.runs, has(tool.shell), "%s in %s runs any command", name, host)
			assert.Equal(t, tt.tests, hosts.ToolSet{}.Only(inHost.Tools).Permits(tool.shell), "%s in %s runs tests", name, host)
			assert.Equal(t, tt.searches, has(tool.search), "%s in %s", name, host)
		}
	}
}

func TestToolsHaveTheNamesOfTheHost(t *testing.T) {
	tests := cases.Read[struct {
		Host        string
		Tools, Want []string
	}](t, "testdata/translated.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			def := definition.Definition{Tools: &tt.Tools, DisallowedTools: tt.Tools}.TranslateFor(hoststest.Known(), tt.Host)
			assert.Equal(t, tt.Want, *def.Tools)
			assert.Equal(t, tt.Want, def.DisallowedTools)
		})
	}
	assert.Nil(t, definition.Definition{}.TranslateFor(hoststest.Known(), "opencode").Tools, "inherited tools stay inherited")
}

func TestABuiltinDefinitionIsACopy(t *testing.T) {
	def, err := definition.Load(hoststest.Known(), nil).Find("analyzer")
	require.NoError(t, err)
	(*def.Tools)[0] = "Bash"
	(*def.TranslateFor(hoststest.Known(), "opencode").Tools)[0] = "bash"
	again, err := definition.Load(hoststest.Known(), nil).Find("analyzer")
	require.NoError(t, err)
	assert.Equal(t, []string{"Read", "Grep", "Glob"}, *again.Tools)
	assert.Equal(t, "read", (*again.TranslateFor(hoststest.Known(), "opencode").Tools)[0])
}
