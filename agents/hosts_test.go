package agents_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/tests/hoststest"
)

// changers are tools that change things, by host; hosts share no name.
var changers = map[string][]string{
	claudecode.Name: {"Edit", "Write", "MultiEdit", "NotebookEdit", "Bash"},
	opencode.Name:   {"edit", "write", "apply_patch", "multiedit", "patch", "bash"},
}

// A launcher is a host with its client.
type launcher struct {
	hosts.Host
	hosts.Client
}

// launchers are the hosts, on a machine that has no settings.
func launchers(t *testing.T) []launcher {
	t.Helper()
	dir := t.TempDir()
	machine := hosts.Machine{
		Home: dir, ProjectDir: dir, Getenv: func(string) string { return "" },
		LookPath: func(name string) (string, error) { return "/opt/" + name, nil },
	}
	return lo.Map(hoststest.Known(), func(h hosts.Host, _ int) launcher { return launcher{h, h.Client(machine)} })
}

// withheld reports whether a host must keep a whole tool from a child.
func withheld(t *testing.T, host launcher, c hosts.LaunchSpec, tool string) bool {
	t.Helper()
	launch, err := host.Launch(c)
	require.NoError(t, err)
	if host.Name == claudecode.Name {
		at := slices.Index(launch.Command, "--disallowedTools")
		return at >= 0 && slices.Contains(strings.Split(launch.Command[at+1], ","), tool)
	}
	var config struct {
		Agent map[string]struct{ Permission map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(launch.Env[0], "OPENCODE_CONFIG_CONTENT=")), &config))
	permission := "edit" // which is about every tool that changes files
	if tool == "bash" {
		permission = tool
	}
	return config.Agent["flame-agent"].Permission[permission] == "deny"
}

func TestAReadingAgentHasNoToolThatChangesThings(t *testing.T) {
	t.Parallel()
	for _, host := range launchers(t) {
		for _, tool := range changers[host.Name] {
			child := hosts.LaunchSpec{Mode: hosts.ModePlan}
			assert.True(t, withheld(t, host, child, tool), "%s in %s", tool, host.Name)
			child.Tools = hosts.ToolSet{}.Only(&[]string{tool})
			assert.True(t, withheld(t, host, child, tool), "%s in %s, though it is on its list", tool, host.Name)
		}
	}
}

func TestADeniedToolIsDeniedUnderAllNamesOfItsHost(t *testing.T) {
	t.Parallel()
	claude, open := launchers(t)[0], launchers(t)[1]
	denied := func(tool string, host launcher) hosts.LaunchSpec {
		return hosts.LaunchSpec{Tools: hosts.ToolSet{}.Without(tool).For(hoststest.Known(), host.Name)}
	}
	for tool, names := range map[string][]string{"edit": {"Edit", "MultiEdit", "NotebookEdit"}, "write": {"Write"}, "apply_patch": {"Edit"}, "bash": {"Bash"}} {
		for _, name := range names {
			assert.True(t, withheld(t, claude, denied(tool, claude), name), "%s by %s", name, tool)
		}
	}
	for _, tool := range slices.Concat(changers[claudecode.Name], changers[opencode.Name]) {
		assert.True(t, withheld(t, open, denied(tool, open), strings.ToLower(tool)), "%s, which may share its permission with others", tool)
	}
}

func TestTheEditPermissionOfOpenCodeCoversAllToolsThatChangeFiles(t *testing.T) {
	t.Parallel()
	for _, tool := range changers[opencode.Name] {
		if tool == "bash" {
			continue
		}
		def, err := definition.Inline(hoststest.Known(), json.RawMessage(`{"description": "d", "prompt": "Do.", "permission": {"`+tool+`": "deny"}}`))
		require.NoError(t, err)
		for host, names := range map[string][]string{
			opencode.Name:   {"edit", "write", "apply_patch"},
			claudecode.Name: {"Edit", "Write", "MultiEdit", "NotebookEdit"},
		} {
			left := hosts.ToolSet{}.Without(def.TranslateFor(hoststest.Known(), host).DisallowedTools...)
			for _, name := range names {
				assert.False(t, left.Permits(name), "%s in %s, by the permission %s", name, host, tool)
			}
		}
	}
}

// What flame knows of a host and the host's own package go by the same names.
func TestEachHostIsKnown(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	assert.False(t, hoststest.Known().Inside(none, []string{"bash", "flame"}))
	for _, host := range launchers(t) {
		name := host.Name
		assert.NotEmpty(t, hoststest.Known().Of(name).Tools.Own.Names(hosts.EffectEdit), name)
		assert.True(t, hoststest.Known().Inside(none, []string{"bash", host.Program}), name)
		def, err := definition.Inline(hoststest.Known(), json.RawMessage(`{"description":"d","prompt":"p","flame":{"host":"`+name+`"}}`))
		require.NoError(t, err)
		assert.Equal(t, name, def.Host)
	}
	for _, variable := range []string{"CLAUDECODE", "OPENCODE"} {
		assert.True(t, hoststest.Known().Inside(func(asked string) string { return map[string]string{variable: "1"}[asked] }, nil), variable)
	}
	_, err := definition.Inline(hoststest.Known(), json.RawMessage(`{"description":"d","prompt":"p","flame":{"host":"emacs"}}`))
	assert.ErrorContains(t, err, "must be one of claude-code, opencode, codex, gemini, auto")
}
