package hosts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts"
	"flame/tests/hoststest"
)

func TestToolSetsNarrow(t *testing.T) {
	t.Parallel()
	all := hosts.ToolSet{}
	list := func(names ...string) *[]string { return &names }
	git := all.Only(list("Read", "Bash(git *)"))
	readers := all.Only(list("Read", "Grep", "mcp__docs__*"))
	tests := map[string]struct {
		set      hosts.ToolSet
		permits  []string
		refuses  []string
		asString string
	}{
		"all tools": {all, []string{"Read", "Bash"}, nil, "all of the host's"},
		"a list": {
			readers, []string{"read", "GREP", "mcp__docs__find"}, []string{"Bash", "mcp__other__find"}, "Read, Grep, mcp__docs__*",
		},
		"an empty list":                      {all.Only(list()), nil, []string{"Read"}, "none"},
		"a list that asks for more":          {readers.Only(list("Read", "Bash")), []string{"Read"}, []string{"Bash", "Grep"}, "Read"},
		"a pattern over a list":              {readers.Only(list("*")), []string{"Read", "Grep"}, []string{"Bash"}, "Read, Grep, mcp__docs__*"},
		"a name out of a pattern":            {readers.Only(list("mcp__docs__find")), []string{"mcp__docs__find"}, []string{"mcp__docs__write"}, "mcp__docs__find"},
		"a bare name under a rule":           {git.Only(list("Bash")), []string{"Bash"}, []string{"Read"}, "Bash(git *)"},
		"the same rule":                      {git.Only(list("bash(git *)")), nil, []string{"Read"}, "bash(git *)"},
		"another rule":                       {git.Only(list("Bash(rm *)", "Read")), []string{"Read"}, []string{"Bash"}, "Read"},
		"a rule under a bare name":           {all.Only(list("Bash")).Only(list("Bash(git *)")), []string{"Bash"}, nil, "Bash(git *)"},
		"denied":                             {all.Without("Bash"), []string{"Read"}, []string{"bash"}, "all of the host's; not Bash"},
		"denied stays denied":                {all.Without("Bash").Only(list("Bash", "Read")), []string{"Read"}, []string{"Bash"}, "Read; not Bash"},
		"a rule for arguments denies a part": {all.Without("Bash(rm *)"), []string{"Bash"}, nil, "all of the host's; not Bash(rm *)"},
		"a rule for arguments allows a tool": {all.Only(list("Bash(go test *)")), []string{"Bash"}, []string{"Read"}, "Bash(go test *)"},
		"at the deepest level": {
			all.Without(hoststest.Known().SpawnTools()...), []string{"Read"},
			[]string{"Agent", "Task", "mcp__plugin_flame_flame__spawn_agent", "flame_spawn_agent"},
			"all of the host's; not Agent, Task, Workflow, task, call_omo_agent, spawn_agent, invoke_agent, *spawn_agent",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, tool := range tt.permits {
				assert.True(t, tt.set.Permits(tool), tool)
			}
			for _, tool := range tt.refuses {
				assert.False(t, tt.set.Permits(tool), tool)
			}
			assert.Equal(t, tt.asString, tt.set.String())
		})
	}
}

func TestDeepAnswersHaveNoWords(t *testing.T) {
	t.Parallel()
	assert.Zero(t, hosts.AnswersOf(strings.Repeat("[", 60<<20)), "that deep, to read it could end the program")
}

func TestModesAreKnownByTheClientsNames(t *testing.T) {
	t.Parallel()
	mode, err := hosts.ParseMode("acceptEdits")
	require.NoError(t, err)
	assert.Equal(t, hosts.ModeAcceptEdits, mode)
	_, err = hosts.ParseMode("acceptedits")
	assert.ErrorContains(t, err, `"acceptedits"`)
}
