// Package opencode is what flame knows of OpenCode. It is set up by one JavaScript
// file in a folder that OpenCode loads plugins from, which adds the MCP server and the
// slash commands when OpenCode starts. No file of OpenCode's is edited.
package opencode

import (
	"context"
	"path/filepath"
	"strings"

	"flame/hosts"
	"flame/transcripts"
)

// Name is the host's name in flame, Program that of its binary.
const (
	Name    = "opencode"
	Program = "opencode"
)

// facts returns what does not depend on the machine.
func facts() hosts.Host {
	return hosts.Host{
		Name: Name, Title: "OpenCode", Program: Program,
		Adds:      "one JavaScript file",
		ByHand:    `"mcp": {"flame": {"type": "local", "command": ["flame", "serve"]}}   in opencode.json`,
		Burden:    950,
		Inside:    "OPENCODE",
		Variables: []string{"OPENCODE", "OPENCODE_PID", "OPENCODE_CONFIG_CONTENT", "AGENT"},
		Settings:  []string{"opencode.json", "opencode.jsonc", ".opencode"},
		Takes:     func(model string) bool { return strings.Contains(model, "/") },
		Tools:     tools, Joint: "_",
		Agents: map[string][]string{ // what its plan lacks follows from its mode
			"build": nil, "general": nil, "plan": nil,
			"explore": append(tools.Names(hosts.Edits, hosts.Spawns), "todowrite"),
		},
		Keys: ownKeys, Shared: true, Rules: []string{"external_directory", "doom_loop"},
		Definitions: definitions,
		Resumes:     func(session string) bool { return strings.HasPrefix(session, "ses_") }, // subagents have sessions too
		Talk:        []string{"--session"},
		Begins:      []string{"--prompt"},
		Prints:      transcripts.OpenCodeRun,
		Logs:        transcripts.Formats{transcripts.OpenCodeRun, transcripts.OpenCodeExport, transcripts.OpenCodeStore},
		Store:       store,
		LogsIn:      store,
		Newest: func(ctx context.Context, m hosts.Machine) (hosts.Past, error) {
			session, at, err := transcripts.OpenCodeNewest(ctx, store(m), m.ProjectDir)
			return hosts.Past{Path: store(m), Session: session, At: at}, err
		},
	}
}

// store returns the database in which OpenCode keeps all sessions.
func store(m hosts.Machine) string { return filepath.Join(m.DataHome(), "opencode", "opencode.db") }

// ownKeys are the keys of a definition that only OpenCode understands.
var ownKeys = []hosts.Key{
	{Name: "temperature", Passed: true}, {Name: "top_p", Passed: true}, {Name: "variant", Passed: true}, {Name: "options", Passed: true},
}

// tools are OpenCode's own. Its permission "edit" covers all tools that write
// files, so all of Claude Code's correspond to its tool of that name.
var tools = hosts.Tools{
	{Name: "read", Does: hosts.Reads, Same: []string{"Read"}}, {Name: "grep", Does: hosts.Reads, Same: []string{"Grep"}},
	{Name: "glob", Does: hosts.Reads, Same: []string{"Glob"}}, {Name: "list", Does: hosts.Reads, Same: []string{"LS"}},
	{Name: "lsp", Does: hosts.Notes}, {Name: "skill", Does: hosts.Notes, Same: []string{"Skill"}},
	{Name: "todowrite", Does: hosts.Notes, Same: []string{"TodoWrite"}}, {Name: "todoread", Does: hosts.Notes},
	{Name: "edit", Does: hosts.Edits, Same: []string{"Edit", "MultiEdit", "NotebookEdit"}}, {Name: "write", Does: hosts.Edits, Same: []string{"Write"}},
	{Name: "apply_patch", Does: hosts.Edits, Same: []string{"Edit"}},
	{Name: "multiedit", Does: hosts.Edits, Old: true}, {Name: "patch", Does: hosts.Edits, Old: true},
	{Name: "bash", Does: hosts.Runs, Same: []string{"Bash"}},
	{Name: "webfetch", Does: hosts.Fetches, Same: []string{"WebFetch"}}, {Name: "websearch", Does: hosts.Fetches, Same: []string{"WebSearch"}},
	{Name: "codesearch", Does: hosts.Fetches},
	{Name: "task", Does: hosts.Spawns, Same: []string{"Agent", "Task"}}, {Name: "call_omo_agent", Does: hosts.Spawns}, // the last belongs to a plugin for it
	{Name: "question"}, {Name: "invalid"},
}

// definitions returns where OpenCode looks for definitions of agents.
func definitions(m hosts.Machine) (all []hosts.Folder) {
	add := func(scope hosts.Scope, dir string) {
		for _, name := range []string{"agent", "agents"} {
			all = append(all, hosts.Folder{Path: filepath.Join(dir, name), Scope: scope, Nested: true})
		}
	}
	add(hosts.User, filepath.Join(m.ConfigHome(), "opencode"))
	add(hosts.User, m.Getenv("OPENCODE_CONFIG_DIR"))
	add(hosts.Project, filepath.Join(m.ProjectDir, ".opencode"))
	return all
}
