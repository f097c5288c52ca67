package hosts

import (
	"strings"

	"flame/transcripts"
)

// Known returns the hosts that agents can run in, in the order in which they are named.
func Known() Registry {
	return Registry{
		{
			Name: "claude-code", Title: "Claude Code", Program: "claude", Prints: transcripts.ClaudeStream,
			Variables: []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE"},
			Settings:  []string{".claude/settings.json", ".claude/settings.local.json", ".mcp.json"},
			Takes:     func(model string) bool { return !strings.Contains(model, "/") },
			Joint:     "mcp__",
			Tools:     claudeTools,
			Common:    true,
			Agents: map[string][]string{
				"general-purpose": nil, "claude": nil,
				"Explore": claudeReads(), "Plan": claudeReads(),
			},
		},
		{
			Name: "opencode", Title: "OpenCode", Program: "opencode", Prints: transcripts.OpenCodeRun,
			Variables: []string{"OPENCODE", "OPENCODE_PID", "OPENCODE_CONFIG_CONTENT", "AGENT"},
			Settings:  []string{"opencode.json", "opencode.jsonc", ".opencode"},
			Takes:     func(model string) bool { return strings.Contains(model, "/") },
			Joint:     "_",
			Tools:     openCodeTools,
			Agents: map[string][]string{ // what its plan lacks is in its mode
				"build": nil, "general": nil, "plan": nil,
				"explore": append(openCodeTools.Names(Edits, Spawns), "todowrite"),
			},
		},
	}
}

var claudeTools = Tools{
	{Name: "Read", Does: Reads}, {Name: "Grep", Does: Reads}, {Name: "Glob", Does: Reads}, {Name: "LS", Does: Reads, Old: true},
	{Name: "Edit", Does: Edits}, {Name: "Write", Does: Edits}, {Name: "MultiEdit", Does: Edits, Old: true}, {Name: "NotebookEdit", Does: Edits},
	{Name: "Bash", Does: Runs}, {Name: "BashOutput"}, {Name: "KillShell"},
	{Name: "WebFetch", Does: Fetches}, {Name: "WebSearch", Does: Fetches},
	{Name: "Agent", Does: Spawns}, {Name: "Task", Does: Spawns}, {Name: "Workflow", Does: Spawns},
	{Name: "TodoWrite", Does: Notes}, {Name: "Skill", Does: Notes}, {Name: "ToolSearch", Does: Notes},
	{Name: "SlashCommand"}, {Name: "AskUserQuestion"}, {Name: "ExitPlanMode"}, {Name: "EnterPlanMode"},
	{Name: "TaskCreate"}, {Name: "TaskGet"}, {Name: "TaskUpdate"}, {Name: "TaskList"}, {Name: "TaskOutput"}, {Name: "TaskStop"},
	{Name: "SendMessage"}, {Name: "ListMcpResources"}, {Name: "ReadMcpResource"},
}

// claudeReads returns the tools that Claude Code's reading agents lack.
func claudeReads() []string { return append(claudeTools.Names(Edits, Spawns), "ExitPlanMode") }

// OpenCode's permission "edit" is about all tools that write files, so Claude
// Code's for that are the same as its tool of that name.
var openCodeTools = Tools{
	{Name: "read", Does: Reads, Same: []string{"Read"}}, {Name: "grep", Does: Reads, Same: []string{"Grep"}},
	{Name: "glob", Does: Reads, Same: []string{"Glob"}}, {Name: "list", Does: Reads, Same: []string{"LS"}},
	{Name: "lsp", Does: Notes}, {Name: "skill", Does: Notes, Same: []string{"Skill"}},
	{Name: "todowrite", Does: Notes, Same: []string{"TodoWrite"}}, {Name: "todoread", Does: Notes},
	{Name: "edit", Does: Edits, Same: []string{"Edit", "MultiEdit", "NotebookEdit"}}, {Name: "write", Does: Edits, Same: []string{"Write"}},
	{Name: "apply_patch", Does: Edits, Same: []string{"Edit"}}, {Name: "multiedit", Does: Edits, Old: true}, {Name: "patch", Does: Edits, Old: true},
	{Name: "bash", Does: Runs, Same: []string{"Bash"}},
	{Name: "webfetch", Does: Fetches, Same: []string{"WebFetch"}}, {Name: "websearch", Does: Fetches, Same: []string{"WebSearch"}}, {Name: "codesearch", Does: Fetches},
	{Name: "task", Does: Spawns, Same: []string{"Agent", "Task"}}, {Name: "call_omo_agent", Does: Spawns}, // the last is of a plugin for it
	{Name: "question"}, {Name: "invalid"},
}
