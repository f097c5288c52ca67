// Package opencode is what flame knows of OpenCode. It is set up by one JavaScript
// file in a folder that OpenCode loads plugins from, which adds the MCP server and the
// slash commands when OpenCode starts. No file of OpenCode's is edited.
package opencode

import (
	"context"
	"path/filepath"
	"strings"
	"time"

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
		Setup: hosts.SetupFacts{
			Adds: "one JavaScript file", Manual: `"mcp": {"flame": {"type": "local", "command": ["flame", "serve"]}}   in opencode.json`,
			Burden: 520, Folders: []string{"opencode.json", "opencode.jsonc", ".opencode"},
		},
		Variables: hosts.Variables{
			Marker:         "OPENCODE",
			UnsetForAgents: []string{"OPENCODE", "OPENCODE_PID", "OPENCODE_CONFIG_CONTENT", "AGENT"},
		},
		Tools: hosts.Vocabulary{Own: tools, MCPSeparator: "_", SharedEditPermission: true, Rules: []string{"external_directory", "doom_loop"}},
		Agents: hosts.AgentFacts{
			BuiltIn: map[string][]string{ // what its plan lacks follows from its mode
				"build": nil, "general": nil, "plan": nil,
				"explore": append(tools.Names(hosts.EffectEdit, hosts.EffectSpawn), "todowrite"),
			},
			Keys: ownKeys, Definitions: definitions, RunFormat: transcripts.OpenCodeRun,
			AcceptsModel: func(model string) bool { return strings.Contains(model, "/") },
		},
		Sessions: hosts.Sessions{
			Resumes:    func(session string) bool { return strings.HasPrefix(session, "ses_") }, // subagents have sessions too
			ResumeArgs: []string{"--session"}, PromptArgs: []string{"--prompt"},
		},
		Logs: hosts.Logs{
			Formats: transcripts.Formats{transcripts.OpenCodeRun, transcripts.OpenCodeExport, transcripts.OpenCodeStore},
			In:      store, DB: store,
			Newest: func(ctx context.Context, m hosts.Machine) (hosts.LoggedSession, error) {
				session, at, err := transcripts.OpenCodeNewest(ctx, store(m), m.ProjectDir)
				return hosts.LoggedSession{Path: store(m), Session: session, At: at}, err
			},
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
	{Name: "read", Effect: hosts.EffectRead, Canonical: []string{"Read"}}, {Name: "grep", Effect: hosts.EffectRead, Canonical: []string{"Grep"}},
	{Name: "glob", Effect: hosts.EffectRead, Canonical: []string{"Glob"}}, {Name: "list", Effect: hosts.EffectRead, Canonical: []string{"LS"}},
	{Name: "lsp", Effect: hosts.EffectNote}, {Name: "skill", Effect: hosts.EffectNote, Canonical: []string{"Skill"}},
	{Name: "todowrite", Effect: hosts.EffectNote, Canonical: []string{"TodoWrite"}}, {Name: "todoread", Effect: hosts.EffectNote},
	{Name: "edit", Effect: hosts.EffectEdit, Canonical: []string{"Edit", "MultiEdit", "NotebookEdit"}},
	{Name: "write", Effect: hosts.EffectEdit, Canonical: []string{"Write"}},
	{Name: "apply_patch", Effect: hosts.EffectEdit, Canonical: []string{"Edit"}},
	{Name: "multiedit", Effect: hosts.EffectEdit, Obsolete: true}, {Name: "patch", Effect: hosts.EffectEdit, Obsolete: true},
	{Name: "bash", Effect: hosts.EffectRun, Canonical: []string{"Bash"}},
	{Name: "webfetch", Effect: hosts.EffectFetch, Canonical: []string{"WebFetch"}},
	{Name: "websearch", Effect: hosts.EffectFetch, Canonical: []string{"WebSearch"}},
	{Name: "codesearch", Effect: hosts.EffectFetch},
	{Name: "task", Effect: hosts.EffectSpawn, Canonical: []string{"Agent", "Task"}},
	{Name: "call_omo_agent", Effect: hosts.EffectSpawn}, // the last belongs to a plugin for it
	{Name: "question"}, {Name: "invalid"},
}

// definitions returns where OpenCode looks for definitions of agents.
func definitions(m hosts.Machine) (all []hosts.Folder) {
	add := func(scope hosts.Scope, dir string) {
		for _, name := range []string{"agent", "agents"} {
			all = append(all, hosts.Folder{Path: filepath.Join(dir, name), Scope: scope, Nested: true})
		}
	}
	add(hosts.ScopeUser, filepath.Join(m.ConfigHome(), "opencode"))
	add(hosts.ScopeUser, m.Getenv("OPENCODE_CONFIG_DIR"))
	add(hosts.ScopeProject, filepath.Join(m.ProjectDir, ".opencode"))
	return all
}

// Host returns what flame knows of OpenCode; its plugin is given the names of
// flame's tools.
func Host(ownTools func() []string) hosts.Host {
	h := facts()
	h.Variables.SetBy = setsVariable
	h.Events = hosts.Events{
		Hook: Hook, Docs: Events, Patience: 280 * time.Millisecond, // flame.js gives up after 300
		Streams: true, SessionsEnded: gone, Compact: keeps,
	}
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m, OwnTools: ownTools} }
	return h
}
