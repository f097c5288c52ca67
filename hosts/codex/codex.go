// Package codex is what flame knows of Codex CLI. It is set up by our plugin, which Codex's own
// command line installs from a marketplace folder that we write. No file of Codex's is edited.
package codex

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"flame/core"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/transcripts"
	logs "flame/transcripts/codex"
)

// Name is the host's name in flame, Program that of its binary.
const (
	Name    = "codex"
	Program = "codex"
)

// The tools whose calls mean something to flame.
const (
	spawnTool  = hooks.SpawnTool // Codex's own has this name; flame's has the prefix of its server
	closeTool  = "close_agent"
	closeTools = "(multi_agent_v1)?" + closeTool
	patchTool  = "apply_patch"
	planTool   = "update_plan"
)

// facts returns what does not depend on the machine.
func facts() hosts.Host {
	return hosts.Host{
		Name: Name, Title: "Codex CLI", Program: Program,
		Setup: hosts.SetupFacts{
			Adds: "a plugin", Manual: "codex mcp add flame -- flame serve --tools lean", Leaves: "empty folders of its cache of plugins",
			Burden: 1_000, Folders: []string{".codex", ".agents"},
		},
		Variables: hosts.Variables{
			Session: "CODEX_THREAD_ID", Marker: "CODEX_THREAD_ID",
			UnsetForAgents: []string{"CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID", "CODEX_VERSION", "CODEX_CI"},
		},
		Tools: hosts.Vocabulary{Own: tools, MCPSeparator: "mcp__"},
		Agents: hosts.AgentFacts{
			BuiltIn: map[string][]string{"default": nil, "explorer": nil, "worker": nil}, RunFormat: logs.Run,
			AcceptsModel: func(model string) bool { return !strings.Contains(model, "/") },
		},
		Sessions: hosts.Sessions{
			Resumes:    func(session string) bool { return uuid.Validate(session) == nil }, // a subagent is a thread of its own
			ResumeArgs: []string{"resume"},
		},
		Logs: hosts.Logs{
			Formats: transcripts.Formats{logs.Rollout, logs.Run},
			In:      func(m hosts.Machine) string { return filepath.Join(ownFolder(m), "sessions") }, Newest: newest,
		},
	}
}

// tools are Codex's own, by the names that hooks see or, if they see none, that the model uses.
var tools = hosts.Tools{
	{Name: "Bash", Effect: hosts.EffectRun, Canonical: []string{"Bash"}}, {Name: "exec_command", Effect: hosts.EffectRun, Canonical: []string{"Bash"}},
	{Name: "write_stdin", Effect: hosts.EffectRun}, {Name: patchTool, Effect: hosts.EffectEdit, Canonical: []string{"Edit", "MultiEdit", "NotebookEdit"}},
	{Name: "view_image", Effect: hosts.EffectRead, Canonical: []string{"Read"}},
	{Name: "web_search", Effect: hosts.EffectFetch, Canonical: []string{"WebSearch", "WebFetch"}},
	{Name: spawnTool, Effect: hosts.EffectSpawn, Canonical: []string{"Agent", "Task"}},
	{Name: planTool, Effect: hosts.EffectNote, Canonical: []string{"TodoWrite"}}, {Name: "tool_search", Effect: hosts.EffectNote}, {Name: askTool},
	{Name: "wait_agent"}, {Name: "send_input"}, {Name: "resume_agent"}, {Name: closeTool},
	{Name: "list_mcp_resources"}, {Name: "list_mcp_resource_templates"}, {Name: "read_mcp_resource"},
	{Name: "get_goal"}, {Name: "create_goal"}, {Name: "update_goal"},
}

// ownFolder returns where Codex keeps the user's settings and logs.
func ownFolder(m hosts.Machine) string {
	return cmp.Or(m.Getenv("CODEX_HOME"), filepath.Join(m.Home, ".codex"))
}

// maxDays bounds how many days of logs are searched for the newest session of a project, and
// maxLogs how many logs of a day.
const (
	maxDays = 30
	maxLogs = 500
)

// newest returns the newest session that was started in the folder of a project. Codex sorts its
// logs by day alone, so their first lines tell.
func newest(ctx context.Context, m hosts.Machine) (past hosts.LoggedSession, err error) {
	days, err := filepath.Glob(filepath.Join(ownFolder(m), "sessions", "[0-9]*", "[0-9]*", "[0-9]*"))
	for n := len(days) - 1; err == nil && n >= max(0, len(days)-maxDays) && past.Path == ""; n-- {
		past, err = hosts.NewestLog(ctx, days[n], maxLogs, func(path string) bool {
			folder, parent := logs.ThreadStart(hooks.Head(path, maxTail))
			return folder == m.ProjectDir && parent == ""
		})
	}
	return past, err
}

// escaped matches what may hide a name in TOML.
var escaped = core.Pattern(`\\[uUx]`)

// setsVariable returns the project's file that may set a variable for Codex's processes: one that
// has the variable's name, or may hide it.
func setsVariable(m hosts.Machine, name string) string {
	return m.Mentioning(name, func(content []byte) bool { return escaped().Match(content) }, ".codex/config.toml")
}
