package agents

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/transcripts"
)

// traits are what flame knows of a host without asking it: definitions are read,
// and logs of agents, where no host is at hand.
type traits struct {
	name      string // that flame gives it everywhere
	title     string // for people
	program   string // that must be on PATH
	prints    transcripts.Format
	variables []string // that it sets for what runs inside of it, where in an agent they would pass for its own session; the first one always
	settings  []string // files and folders by which a folder has settings of its own
	takes     func(model string) bool
	joint     string              // stands in the names that it gives to tools of MCP servers
	tools     []tool              // its own, as it offered them when it was tried
	agents    map[string][]string // that it brings, with the tools that they lack
}

// A tool is one of a host's own. By does it is known what flame must take away
// where an agent may only read, so a tool that changes anything must not be without.
type tool struct {
	name string
	does Effect
	old  bool     // only older versions have it
	same []string // names that Claude Code has for it; empty for its own
}

// An Effect is what a tool does; the zero value is nothing that flame must know of.
type Effect int

// What tools do to the world.
const (
	Reads   Effect = iota + 1 // looks at the project's files
	Notes                     // helps the agent alone: lists of what is to do, skills
	Edits                     // changes files
	Runs                      // runs commands
	Fetches                   // reads from the web
	Spawns                    // starts other agents
)

// The hosts that rules below and the dialects of definitions are about.
const (
	claudeCode = "claude-code"
	openCode   = "opencode"
)

// hosts are those that agents can run in, in the order in which they are named.
var hosts = []traits{
	{
		name: claudeCode, title: "Claude Code", program: "claude", prints: transcripts.ClaudeStream,
		variables: []string{"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_ENV_FILE"},
		settings:  []string{".claude/settings.json", ".claude/settings.local.json", ".mcp.json"},
		takes:     func(model string) bool { return !strings.Contains(model, "/") },
		joint:     "mcp__",
		tools:     claudeTools,
		agents: map[string][]string{
			"general-purpose": nil, "claude": nil,
			"Explore": claudeReads, "Plan": claudeReads,
		},
	},
	{
		name: openCode, title: "OpenCode", program: "opencode", prints: transcripts.OpenCodeRun,
		variables: []string{"OPENCODE", "OPENCODE_PID", "OPENCODE_CONFIG_CONTENT", "AGENT"},
		settings:  []string{"opencode.json", "opencode.jsonc", ".opencode"},
		takes:     func(model string) bool { return strings.Contains(model, "/") },
		joint:     "_",
		tools:     openCodeTools,
		agents: map[string][]string{ // what its plan lacks is in its mode
			"build": nil, "general": nil, "plan": nil,
			"explore": append(named(openCodeTools, Edits, Spawns), "todowrite"),
		},
	},
}

var claudeTools = []tool{
	{name: "Read", does: Reads}, {name: "Grep", does: Reads}, {name: "Glob", does: Reads}, {name: "LS", does: Reads, old: true},
	{name: "Edit", does: Edits}, {name: "Write", does: Edits}, {name: "MultiEdit", does: Edits, old: true}, {name: "NotebookEdit", does: Edits},
	{name: "Bash", does: Runs}, {name: "BashOutput"}, {name: "KillShell"},
	{name: "WebFetch", does: Fetches}, {name: "WebSearch", does: Fetches},
	{name: "Agent", does: Spawns}, {name: "Task", does: Spawns}, {name: "Workflow", does: Spawns},
	{name: "TodoWrite", does: Notes}, {name: "Skill", does: Notes}, {name: "ToolSearch", does: Notes},
	{name: "SlashCommand"}, {name: "AskUserQuestion"}, {name: "ExitPlanMode"}, {name: "EnterPlanMode"},
	{name: "TaskCreate"}, {name: "TaskGet"}, {name: "TaskUpdate"}, {name: "TaskList"}, {name: "TaskOutput"}, {name: "TaskStop"},
	{name: "SendMessage"}, {name: "ListMcpResources"}, {name: "ReadMcpResource"},
}

// claudeReads are the tools that Claude Code's reading agents lack.
var claudeReads = append(named(claudeTools, Edits, Spawns), "ExitPlanMode")

// OpenCode's permission "edit" is about all tools that write files, so Claude
// Code's for that are the same as its tool of that name.
var openCodeTools = []tool{
	{name: "read", does: Reads, same: []string{"Read"}}, {name: "grep", does: Reads, same: []string{"Grep"}},
	{name: "glob", does: Reads, same: []string{"Glob"}}, {name: "list", does: Reads, same: []string{"LS"}},
	{name: "lsp", does: Notes}, {name: "skill", does: Notes, same: []string{"Skill"}},
	{name: "todowrite", does: Notes, same: []string{"TodoWrite"}}, {name: "todoread", does: Notes},
	{name: "edit", does: Edits, same: []string{"Edit", "MultiEdit", "NotebookEdit"}}, {name: "write", does: Edits, same: []string{"Write"}},
	{name: "apply_patch", does: Edits, same: []string{"Edit"}}, {name: "multiedit", does: Edits, old: true}, {name: "patch", does: Edits, old: true},
	{name: "bash", does: Runs, same: []string{"Bash"}},
	{name: "webfetch", does: Fetches, same: []string{"WebFetch"}}, {name: "websearch", does: Fetches, same: []string{"WebSearch"}}, {name: "codesearch", does: Fetches},
	{name: "task", does: Spawns, same: []string{"Agent", "Task"}}, {name: "call_omo_agent", does: Spawns}, // the last is of a plugin for it
	{name: "question"}, {name: "invalid"},
}

// traitsOf returns those of a host. One that is not known has no tools, takes any
// model, and is taken to know every tool.
func traitsOf(host string) traits {
	for _, h := range hosts {
		if h.name == host {
			return h
		}
	}
	return traits{name: host, takes: func(string) bool { return true }}
}

// ofHosts returns what all hosts have of something, in their order.
func ofHosts[T any](of func(traits) []T) []T {
	return lo.FlatMap(hosts, func(h traits, _ int) []T { return of(h) })
}

func hostNames() []string { return lo.Map(hosts, func(h traits, _ int) string { return h.name }) }

// allTools returns the tools of all hosts.
func allTools() []tool { return ofHosts(func(h traits) []tool { return h.tools }) }

// install is the advice for one who has none of the hosts.
func install() string {
	titles := lo.Map(hosts, func(h traits, _ int) string { return h.title })
	programs := lo.Map(hosts, func(h traits, _ int) string { return "`" + h.program + "`" })
	return "install " + strings.Join(titles, " or ") + ", so that " + strings.Join(programs, " or ") + " is on PATH"
}

// Tools returns the names that a host has for its own tools of some effects, those
// of older versions too; none of a host that is not known.
func Tools(host string, does ...Effect) []string { return named(traitsOf(host).tools, does...) }

// lineOf returns the reader of what a host prints.
func lineOf(host string) func(line []byte) core.Message {
	return transcripts.Line(traitsOf(host).prints)
}

// Does returns what a tool does that any of the hosts calls so, in whatever case; the
// zero value where none has it.
func Does(name string) Effect {
	for _, t := range allTools() {
		if strings.EqualFold(t.name, name) {
			return t.does
		}
	}
	return 0
}

func named(tools []tool, does ...Effect) (names []string) {
	for _, t := range tools {
		if slices.Contains(does, t.does) {
			names = append(names, t.name)
		}
	}
	return names
}

// current returns the tools that newer versions have too.
func current(tools []tool) []tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t tool) bool { return t.old })
}

// InHost reports whether a process runs in a session of a host, by its variables
// and the names of the programs above it.
func InHost(getenv func(string) string, above []string) bool {
	return slices.ContainsFunc(hosts, func(h traits) bool {
		return getenv(h.variables[0]) != "" || slices.Contains(above, h.program)
	})
}

// namesIn returns the names that a tool has in a host, by way of Claude Code's; none
// where the host has none for it, or no other. A name of Claude Code's own stays
// alone: its Edit is not all that OpenCode calls edit.
func namesIn(host, name string) (names []string) {
	if host == claudeCode {
		return claudeNames(name)
	}
	own := traitsOf(host).tools
	wanted := []string{name}
	if !slices.ContainsFunc(own, func(t tool) bool { return strings.EqualFold(t.name, name) }) {
		wanted = append(wanted, claudeNames(name)...)
	}
	for _, t := range own {
		if slices.ContainsFunc(t.same, func(same string) bool { return containsFold(wanted, same) }) {
			names = append(names, t.name)
		}
	}
	return names
}

// claudeNames returns the names that Claude Code has for a tool of any host.
func claudeNames(name string) (names []string) {
	if slices.ContainsFunc(claudeTools, func(t tool) bool { return t.name == name }) {
		return []string{name}
	}
	for _, t := range allTools() {
		if strings.EqualFold(t.name, name) {
			names = append(names, t.same...)
		}
	}
	return names
}

func containsFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
}
