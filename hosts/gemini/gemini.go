// Package gemini is what flame knows of Gemini CLI. It is set up by our extension, which Gemini
// CLI's own command line links to a folder that we write. No file of Gemini CLI's is edited.
package gemini

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"flame/hosts"
	"flame/hosts/hooks"
	"flame/transcripts"
	logs "flame/transcripts/gemini"
)

// Name is the host's name in flame, Program that of its binary.
const (
	Name    = "gemini"
	Program = "gemini"
)

// The tools whose calls mean something to flame.
const (
	invokeTool = logs.InvokeTool
	editTools  = logs.WriteTool + "|" + logs.ReplaceTool
	flameTools = "mcp_.*_flame_[a-z][a-z_]*"
	spawnTools = "mcp_.*_" + hooks.SpawnTool
	todoTool   = "write_todos"
	listTools  = todoTool + "|tracker_create_task|tracker_update_task"
)

// facts returns what does not depend on the machine.
func facts() hosts.Host {
	return hosts.Host{
		Name: Name, Title: "Gemini CLI", Program: Program,
		Setup: hosts.SetupFacts{
			Adds: "an extension", Manual: "gemini mcp add --scope user flame flame -- serve --tools lean",
			Leaves: "an entry in extension_integrity.json and in projects.json, and the folders tmp/flame and history/flame, all in ~/.gemini",
			Burden: 620, Folders: []string{".gemini", "GEMINI.md"},
		},
		Variables: hosts.Variables{
			Marker:         "GEMINI_CLI",
			UnsetForAgents: []string{"GEMINI_CLI", "GEMINI_PROJECT_DIR", "GEMINI_SESSION_ID", "GEMINI_CWD", "GEMINI_PLANS_DIR"},
		},
		Tools: hosts.Vocabulary{Own: tools, MCPSeparator: "mcp_"},
		Agents: hosts.AgentFacts{
			BuiltIn: map[string][]string{"generalist": nil, "codebase_investigator": nil, "cli_help": nil}, RunFormat: logs.Run,
			AcceptsModel: func(model string) bool { return !strings.Contains(model, "/") },
		},
		Sessions: hosts.Sessions{
			New: uuid.NewString, ResumeArgs: []string{"--resume"}, PromptArgs: []string{"--prompt-interactive"},
			Resumes: func(session string) bool { return uuid.Validate(session) == nil }, // that of a subagent looks the same
		},
		Logs: hosts.Logs{
			Formats: transcripts.Formats{logs.Chat, logs.Document, logs.Run},
			In:      func(m hosts.Machine) string { return filepath.Join(ownFolder(m), "tmp") }, Newest: newest,
		},
	}
}

// tools are Gemini CLI's own.
var tools = hosts.Tools{
	{Name: "run_shell_command", Effect: hosts.EffectRun, Canonical: []string{"Bash"}},
	{Name: logs.WriteTool, Effect: hosts.EffectEdit, Canonical: []string{"Write"}},
	{Name: logs.ReplaceTool, Effect: hosts.EffectEdit, Canonical: []string{"Edit", "MultiEdit"}},
	{Name: "read_file", Effect: hosts.EffectRead, Canonical: []string{"Read"}}, {Name: "read_many_files", Effect: hosts.EffectRead},
	{Name: "list_directory", Effect: hosts.EffectRead, Canonical: []string{"LS"}}, {Name: "glob", Effect: hosts.EffectRead, Canonical: []string{"Glob"}},
	{Name: "grep_search", Effect: hosts.EffectRead, Canonical: []string{"Grep"}},
	{Name: "google_web_search", Effect: hosts.EffectFetch, Canonical: []string{"WebSearch"}},
	{Name: "web_fetch", Effect: hosts.EffectFetch, Canonical: []string{"WebFetch"}},
	{Name: invokeTool, Effect: hosts.EffectSpawn, Canonical: []string{"Agent", "Task"}},
	{Name: todoTool, Effect: hosts.EffectNote, Canonical: []string{"TodoWrite"}}, {Name: "update_topic", Effect: hosts.EffectNote},
	{Name: "activate_skill", Effect: hosts.EffectNote, Canonical: []string{"Skill"}}, {Name: "save_memory", Effect: hosts.EffectEdit},
	{Name: askTool}, {Name: "enter_plan_mode"}, {Name: planTool}, {Name: "complete_task"},
}

// ownFolder returns where Gemini CLI keeps the user's settings and logs.
func ownFolder(m hosts.Machine) string {
	return filepath.Join(cmp.Or(m.Getenv("GEMINI_CLI_HOME"), m.Home), ".gemini")
}

// maxLogs bounds how many logs of a project are searched for the newest session.
const maxLogs = 500

// newest returns the newest session of the project: its folder of logs names the project in a file.
func newest(ctx context.Context, m hosts.Machine) (past hosts.LoggedSession, err error) {
	folders, err := os.ReadDir(filepath.Join(ownFolder(m), "tmp"))
	if errors.Is(err, fs.ErrNotExist) {
		return past, nil
	}
	for _, folder := range folders {
		dir := filepath.Join(ownFolder(m), "tmp", folder.Name())
		root := strings.TrimSpace(string(hooks.Head(filepath.Join(dir, ".project_root"), maxRoot)))
		if ctx.Err() != nil {
			return past, ctx.Err()
		}
		if root == "" || !hosts.SameFolder(root, m.ProjectDir) {
			continue
		}
		found, err := hosts.NewestLog(ctx, filepath.Join(dir, "chats"), maxLogs, func(string) bool { return true })
		if err == nil && found.At.After(past.At) {
			past = found
		}
	}
	return past, err
}

// maxRoot bounds the path of a project in bytes.
const maxRoot = 4 << 10

// setsVariable returns the project's file that may set a variable for Gemini CLI's processes: one that
// has the variable's name.
func setsVariable(m hosts.Machine, name string) string {
	return m.Mentioning(name, func([]byte) bool { return false }, ".gemini/.env", ".env", ".gemini/settings.json")
}
