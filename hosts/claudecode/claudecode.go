// Package claudecode is what flame knows of Claude Code. It is set up by our
// plugin, which Claude Code's own command line installs from a marketplace
// folder that we write. No file of Claude Code's is edited here.
package claudecode

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

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
		Setup: hosts.SetupFacts{
			Adds: "our plugin", Manual: "claude mcp add flame -- flame serve", Leaves: "a copy of the plugin in its cache, until it clears that itself",
			Burden: 400, Folders: []string{".claude/settings.json", ".claude/settings.local.json", ".mcp.json"},
		},
		Variables: hosts.Variables{
			Session: "CLAUDE_CODE_SESSION_ID", Folder: "CLAUDE_PROJECT_DIR", Marker: "CLAUDECODE",
			UnsetForAgents: []string{
				"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT",
				"CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE",
			},
		},
		Tools: hosts.Vocabulary{Own: tools, Canonical: true, MCPSeparator: "mcp__"},
		Agents: hosts.AgentFacts{
			BuiltIn: map[string][]string{"general-purpose": nil, "claude": nil, "Explore": readersLack(), "Plan": readersLack()},
			Keys: []hosts.Key{
				{Name: "mcpServers", Passed: true, Commands: true}, {Name: "hooks", Passed: true, Commands: true},
				{Name: "initialPrompt", Passed: true, Commands: true}, // it may be one of the host's own commands
				{Name: "autoCompactWindow"}, {Name: "skills"}, {Name: "memory"}, {Name: "omitClaudeMd"},
			},
			Definitions: definitions, RunFormat: transcripts.ClaudeStream,
			AcceptsModel: func(model string) bool { return !strings.Contains(model, "/") },
		},
		Sessions: hosts.Sessions{
			New: uuid.NewString, ResumeArgs: []string{"--resume"},
			Resumes: func(session string) bool { return uuid.Validate(session) == nil }, // a subagent's id is no session's
		},
		Logs: hosts.Logs{
			Formats: transcripts.Formats{transcripts.ClaudeSession, transcripts.ClaudeStream}, Example: "~/.claude/projects/my-project",
			In: func(m hosts.Machine) string { return filepath.Join(ownFolder(m), "projects") }, Newest: newest,
		},
	}
}

// tools are Claude Code's own.
var tools = hosts.Tools{
	{Name: "Read", Effect: hosts.EffectRead}, {Name: "Grep", Effect: hosts.EffectRead}, {Name: "Glob", Effect: hosts.EffectRead},
	{Name: "LS", Effect: hosts.EffectRead, Obsolete: true},
	{Name: "Edit", Effect: hosts.EffectEdit}, {Name: "Write", Effect: hosts.EffectEdit},
	{Name: "MultiEdit", Effect: hosts.EffectEdit, Obsolete: true}, {Name: "NotebookEdit", Effect: hosts.EffectEdit},
	{Name: "Bash", Effect: hosts.EffectRun}, {Name: "BashOutput"}, {Name: "KillShell"},
	{Name: "WebFetch", Effect: hosts.EffectFetch}, {Name: "WebSearch", Effect: hosts.EffectFetch},
	{Name: "Agent", Effect: hosts.EffectSpawn}, {Name: "Task", Effect: hosts.EffectSpawn}, {Name: "Workflow", Effect: hosts.EffectSpawn},
	{Name: "TodoWrite", Effect: hosts.EffectNote}, {Name: "Skill", Effect: hosts.EffectNote}, {Name: "ToolSearch", Effect: hosts.EffectNote},
	{Name: "SlashCommand"}, {Name: askTool}, {Name: planTool}, {Name: "EnterPlanMode"},
	{Name: "TaskCreate"}, {Name: "TaskGet"}, {Name: "TaskUpdate"}, {Name: "TaskList"}, {Name: "TaskOutput"}, {Name: "TaskStop"},
	{Name: "SendMessage"}, {Name: "ListMcpResources"}, {Name: "ReadMcpResource"},
}

// readersLack returns the tools that Claude Code's read-only agents lack.
func readersLack() []string {
	return append(tools.Names(hosts.EffectEdit, hosts.EffectSpawn), planTool)
}

// ownFolder returns where Claude Code keeps the user's settings.
func ownFolder(m hosts.Machine) string {
	return cmp.Or(m.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(m.Home, ".claude"))
}

// newest returns the newest session that was started in the folder of a project. Claude Code
// names the folder of its logs after that one (measured: 2.1.328).
func newest(ctx context.Context, m hosts.Machine) (past hosts.LoggedSession, err error) {
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '-'
	}, m.ProjectDir)
	return hosts.NewestLog(ctx, filepath.Join(ownFolder(m), "projects", name), math.MaxInt, func(string) bool { return true })
}

// definitions returns where Claude Code looks for definitions of agents. Wave's
// definitions are read as its own.
func definitions(m hosts.Machine) []hosts.Folder {
	own := ownFolder(m)
	return []hosts.Folder{
		{Path: filepath.Join(own, "agents"), Scope: hosts.ScopeUser, Nested: true},
		{Path: filepath.Join(m.Home, ".wave", "agents"), Scope: hosts.ScopeUser},
		{Path: filepath.Join(m.ProjectDir, ".claude", "agents"), Scope: hosts.ScopeProject, Nested: true},
		{Path: filepath.Join(m.ProjectDir, ".wave", "agents"), Scope: hosts.ScopeProject},
	}
}

// apart are the client's commands that talk to no model, or to one in another process.
// They are known by the first word of a command line alone, and some only there.
var apart = []string{
	"agents", "attach", "auth", "auto-mode", "bridge", "daemon", "doctor", "gateway", "import", "install", "kill", "logs", "mcp", "plugin", "plugins",
	"purge", "rc", "remote", "remote-control", "respawn", "rm", "self-hosted-runner", "setup-token", "stop", "sync", "ultrareview", "update", "upgrade",
	"--version", "-v", "--help", "-h", "--update", "--upgrade",
}

// later are the options for sessions that outlive the client, and with it the gateway.
var later = []string{"--bg", "--background", "--cloud", "--remote", "--routine"}

// runsPlain reports whether a command line needs no gateway, with a note for the person.
func runsPlain(args []string) (note []string, plain bool) {
	if len(args) > 0 && slices.Contains(apart, args[0]) {
		return nil, true
	}
	for _, word := range args {
		if word == "--" {
			return nil, false
		}
		if slices.Contains(later, word) {
			return []string{"a session of " + word + " continues without flame's gateway, so flame neither folds nor measures its requests"}, true
		}
	}
	return nil, false
}
