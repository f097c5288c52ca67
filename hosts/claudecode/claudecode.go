// Package claudecode is what flame knows of Claude Code. It is set up by our
// plugin, which Claude Code's own command line installs from a marketplace
// folder that we write. The only file of
// Claude Code's that is edited here is the user's settings, for the status line.
package claudecode

import (
	"cmp"
	"path/filepath"
	"strings"

	"flame/hosts"
	"flame/transcripts"
)

// Name is the host's name in flame, Program that of its binary.
const (
	Name    = "claude-code"
	Program = "claude"
)

// facts returns what does not depend on the machine.
func facts() hosts.Host {
	return hosts.Host{
		Name: Name, Title: "Claude Code", Program: Program,
		Adds: "our plugin", ByHand: "claude mcp add flame -- flame serve",
		SessionVariable: "CLAUDE_CODE_SESSION_ID", FolderVariable: "CLAUDE_PROJECT_DIR", CallID: "claudecode/toolUseId",
		Variables: []string{
			"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT",
			"CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE",
		},
		Settings: []string{".claude/settings.json", ".claude/settings.local.json", ".mcp.json"},
		Takes:    func(model string) bool { return !strings.Contains(model, "/") },
		Tools:    tools, Common: true, Joint: "mcp__",
		Agents: map[string][]string{
			"general-purpose": nil, "claude": nil,
			"Explore": readersLack(), "Plan": readersLack(),
		},
		Keys: []hosts.Key{
			{Name: "mcpServers", Passed: true, Commands: true}, {Name: "hooks", Passed: true, Commands: true},
			{Name: "initialPrompt", Passed: true, Commands: true}, // it may be one of the host's own commands
			{Name: "autoCompactWindow"}, {Name: "skills"}, {Name: "memory"}, {Name: "omitClaudeMd"},
		},
		Definitions: definitions,
		LogsAt:      "~/.claude/projects/my-project",
		Prints:      transcripts.ClaudeStream,
		Logs:        transcripts.Formats{transcripts.ClaudeSession, transcripts.ClaudeStream},
	}
}

// tools are Claude Code's own.
var tools = hosts.Tools{
	{Name: "Read", Does: hosts.Reads}, {Name: "Grep", Does: hosts.Reads}, {Name: "Glob", Does: hosts.Reads}, {Name: "LS", Does: hosts.Reads, Old: true},
	{Name: "Edit", Does: hosts.Edits}, {Name: "Write", Does: hosts.Edits},
	{Name: "MultiEdit", Does: hosts.Edits, Old: true}, {Name: "NotebookEdit", Does: hosts.Edits},
	{Name: "Bash", Does: hosts.Runs}, {Name: "BashOutput"}, {Name: "KillShell"},
	{Name: "WebFetch", Does: hosts.Fetches}, {Name: "WebSearch", Does: hosts.Fetches},
	{Name: "Agent", Does: hosts.Spawns}, {Name: "Task", Does: hosts.Spawns}, {Name: "Workflow", Does: hosts.Spawns},
	{Name: "TodoWrite", Does: hosts.Notes}, {Name: "Skill", Does: hosts.Notes}, {Name: "ToolSearch", Does: hosts.Notes},
	{Name: "SlashCommand"}, {Name: "AskUserQuestion"}, {Name: "ExitPlanMode"}, {Name: "EnterPlanMode"},
	{Name: "TaskCreate"}, {Name: "TaskGet"}, {Name: "TaskUpdate"}, {Name: "TaskList"}, {Name: "TaskOutput"}, {Name: "TaskStop"},
	{Name: "SendMessage"}, {Name: "ListMcpResources"}, {Name: "ReadMcpResource"},
}

// readersLack returns the tools that Claude Code's read-only agents lack.
func readersLack() []string { return append(tools.Names(hosts.Edits, hosts.Spawns), "ExitPlanMode") }

// ownFolder returns where Claude Code keeps the user's settings.
func ownFolder(m hosts.Machine) string {
	return cmp.Or(m.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(m.Home, ".claude"))
}

// definitions returns where Claude Code looks for definitions of agents. Wave's
// definitions are read as its own.
func definitions(m hosts.Machine) []hosts.Folder {
	own := ownFolder(m)
	return []hosts.Folder{
		{Path: filepath.Join(own, "agents"), Scope: hosts.User},
		{Path: filepath.Join(m.Home, ".wave", "agents"), Scope: hosts.User},
		{Path: filepath.Join(m.ProjectDir, ".claude", "agents"), Scope: hosts.Project},
		{Path: filepath.Join(m.ProjectDir, ".wave", "agents"), Scope: hosts.Project},
	}
}
