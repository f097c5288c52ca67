package claudecode_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/tests/hoststest"
)

func TestAChildIsStartedWithNoMoreThanItMayHave(t *testing.T) {
	t.Parallel()
	limited := func(tools ...string) hosts.ToolSet { return hosts.ToolSet{}.Only(&tools) }
	tests := map[string]struct {
		child hosts.Child
		has   []string // parts of the command line
		not   []string
	}{
		"a new session": {
			child: hosts.Child{Session: "u-1", Mode: hosts.AcceptEdits},
			has: []string{
				"-p --output-format stream-json --verbose --session-id=u-1", "--permission-mode acceptEdits", "--mcp-config {",
				"--allowedTools mcp__flame,mcp__plugin_flame_flame",
			},
			not: []string{"--resume", "--tools", "--strict-mcp-config", "--setting-sources"},
		},
		"one that goes on": {
			child: hosts.Child{Session: "u-1", Resume: true}, has: []string{"--resume=u-1"}, not: []string{"--session-id"},
		},
		"some tools": {
			child: hosts.Child{Tools: limited("Read", "Bash(go test *)", "mcp__other__look"), Trusted: []string{"Read", "Bash(go test *)", "mcp__other__look"}},
			has:   []string{"--tools Read,Bash", "Bash(go test *)", "mcp__other__look"}, not: []string{"--strict-mcp-config"},
		},
		"a rule that a model may have written": {
			child: hosts.Child{Mode: hosts.Plan, Tools: limited("Read", "Bash(*)", "mcp__other__look")},
			has:   []string{"--tools Read,Bash", "--disallowedTools Edit,Write,MultiEdit,NotebookEdit,Bash"}, not: []string{"Bash(*)", "mcp__other__look"},
		},
		"everything, but for a rule": {
			child: hosts.Child{Mode: hosts.Bypass, Tools: limited("Bash(git *)")},
			has:   []string{"--permission-mode acceptEdits", "Bash(git *)"}, not: []string{"bypass"},
		},
		"none of other servers": {child: hosts.Child{Tools: limited("Read")}, has: []string{"--strict-mcp-config"}},
		"reading only": {
			child: hosts.Child{Mode: hosts.Plan}, has: []string{"--permission-mode dontAsk", "--disallowedTools Edit,Write,MultiEdit,NotebookEdit,Bash"},
		},
		"reading only, and some commands": {
			child: hosts.Child{Mode: hosts.Plan, Tools: limited("Read", "Bash(go test *)"), Trusted: []string{"Bash(go test *)"}},
			has:   []string{"--disallowedTools Edit,Write,MultiEdit,NotebookEdit --allowedTools"},
		},
		"none that start others": {
			child: hosts.Child{Tools: hosts.ToolSet{}.Without(hoststest.Known().SpawnTools()...)},
			has:   []string{"Agent,Task,Workflow", "mcp__flame__spawn_agent", "mcp__plugin_flame_flame__spawn_agent"},
		},
		"all the rest": {
			child: hosts.Child{
				System: "Be brief.", Model: "m", Effort: "low", MaxTurns: 3, CostUSD: 1.5,
				HostKeys: map[string]json.RawMessage{"hooks": json.RawMessage(`{"Stop":[]}`)},
			},
			has: []string{"--append-system-prompt=Be brief.", "--model=m", "--effort=low", "--max-turns=3", "--max-budget-usd=1.5", `--settings={"hooks":{"Stop":[]}}`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.child.Dir, tt.child.Flame, tt.child.Prompt = "/agent", "/bin/flame", "do it"
			launch, err := launcher(t).Launch(tt.child)
			require.NoError(t, err)
			line := strings.Join(launch.Command, " ")
			for _, part := range tt.has {
				assert.Contains(t, line, part)
			}
			for _, part := range tt.not {
				assert.NotContains(t, line, part)
			}
			assert.Equal(t, "do it", launch.Stdin)
			assert.NotContains(t, line, "do it", "a task may be longer than a command line")
		})
	}
}

func TestAChildGetsTheServersOfItsDefinition(t *testing.T) {
	t.Parallel()
	launch, err := launcher(t).Launch(hosts.Child{Dir: "/agent", Flame: "/bin/flame", Prompt: "do it", HostKeys: map[string]json.RawMessage{
		"mcpServers": json.RawMessage(`{"docs":{"command":"docs"},"flame":{"command":"evil"}}`), "initialPrompt": json.RawMessage(`"first this"`),
	}})
	require.NoError(t, err)
	assert.JSONEq(
		t, `{"mcpServers":{"docs":{"command":"docs"},"flame":{"type":"stdio","command":"/bin/flame","args":["serve"]}}}`,
		after(launch.Command, "--mcp-config"),
	)
	assert.Equal(t, "first this\n\ndo it", launch.Stdin)
}

// after returns the word that follows an option.
func after(command []string, option string) string { return command[slices.Index(command, option)+1] }

func TestWhatTheProjectDeniesIsDeniedEverywhere(t *testing.T) {
	t.Parallel()
	l := launcher(t)
	require.NoError(t, os.MkdirAll(filepath.Join(l.Machine.ProjectDir, ".claude"), 0o755))
	require.NoError(
		t,
		os.WriteFile(filepath.Join(l.Machine.ProjectDir, ".claude", "settings.json"), []byte(`{"permissions": {"deny": ["WebFetch", "Bash(rm *)"]}}`), 0o644),
	)
	launch, err := l.Launch(hosts.Child{Mode: hosts.AcceptEdits})
	require.NoError(t, err)
	assert.Equal(t, "WebFetch,Bash(rm *)", after(launch.Command, "--disallowedTools"))
}

func launcher(t *testing.T) claudecode.Client {
	t.Helper()
	dir := t.TempDir()
	return claudecode.Client{Machine: hosts.Machine{
		Home: dir, ProjectDir: dir, Getenv: func(string) string { return "" },
		LookPath: func(name string) (string, error) { return "/opt/" + name, nil },
	}}
}

func TestWithoutTheClientThereIsAdvice(t *testing.T) {
	t.Parallel()
	l := launcher(t)
	l.Machine.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
	assert.False(t, claudecode.Host().Installed(l.Machine))
	_, err := l.Launch(hosts.Child{})
	assert.ErrorContains(t, err, "not installed")
}

func TestARepositoryOfAnotherMachineRunsNothingOfItsOwn(t *testing.T) {
	t.Parallel()
	launch, err := launcher(t).Launch(hosts.Child{
		Dir: "/agent", Flame: "/bin/flame", Strange: true, Mode: hosts.Plan, Tools: hosts.ToolSet{Limited: true, Allowed: []string{"Bash(make test *)"}},
	})
	require.NoError(t, err)
	words := strings.Join(launch.Command, " ")
	assert.Contains(t, words, "--strict-mcp-config --setting-sources user")
	assert.NotContains(t, words, "make test", "a rule that nobody here wrote allows nothing")
}
