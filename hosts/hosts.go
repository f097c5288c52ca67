// Package hosts is what flame knows of the programs that agents live in: a Host
// is one of them, and what differs between them is in that host's own package.
// What they share is here: the registry, the machine that setups act on and the
// steps of their plans, tools and modes, and flame's own binary.
package hosts

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
	"flame/project/turns"
	"flame/transcripts"
)

// A Host is everything flame knows of one host; that host's package makes it.
// Only Name, Title, Program, Client and Sessions.Resumes are required; an empty field means that the
// host has no such thing.
type Host struct {
	Name    string                 // flame's name for it, everywhere
	Title   string                 // for people
	Program string                 // its binary, found on PATH
	Client  func(m Machine) Client // returns its program on a machine

	Setup     SetupFacts
	Variables Variables
	Tools     Vocabulary
	Agents    AgentFacts
	Sessions  Sessions
	Logs      Logs
	Events    Events
	Gateway   GatewayFacts
}

// SetupFacts are what people read of a host's setup, and what it costs them.
type SetupFacts struct {
	Adds    string   // what a setup adds to the host, in words
	Manual  string   // the lines that register flame's server without a setup
	Leaves  string   // what the host itself keeps of flame's after a setup was undone, in words; empty: nothing
	Burden  int64    // tokens that flame, as set up, adds to each request (measured: its bytes in a request, four for a token)
	Folders []string // files and folders that give a folder settings of its own
}

// Variables are those of the environment of a host's processes.
type Variables struct {
	Session        string   // holds the session, for processes inside of it
	Folder         string   // holds the folder in which the session was started
	Marker         string   // each process inside of it has it
	UnsetForAgents []string // set for processes inside of it; in an agent they would be mistaken for its own session
	// SetBy returns a file among the project's own settings that may set a variable of this name;
	// empty if none does. nil: a project cannot set any.
	SetBy func(m Machine, name string) (file string)
}

// A Vocabulary is a host's own tools, and how it names those of others.
type Vocabulary struct {
	Own                  Tools
	Canonical            bool     // their names are the common ones, through which tools are translated
	MCPSeparator         string   // separates the parts of its names for tools of MCP servers
	SharedEditPermission bool     // one permission covers all its tools that change files
	Rules                []string // its permissions that are not tied to a tool
}

// AgentFacts are a host's agents: those it has, and what their definitions may say.
type AgentFacts struct {
	BuiltIn      map[string][]string      // with the tools that they lack
	Definitions  func(m Machine) []Folder // returns where it looks for definitions, in ascending precedence
	Keys         []Key                    // of definitions, which only it understands
	AcceptsModel func(model string) bool  // nil: any
	RunFormat    *transcripts.Format      // the format that its program prints when it runs an agent
}

// Sessions are how a person, or flame, begins and resumes one.
type Sessions struct {
	New func() string // returns the id for a new one; nil: the host makes it
	// Resumes reports whether a session can be resumed by its id, which in some
	// hosts does not hold for the host's own subagents.
	Resumes    func(session string) bool
	ResumeArgs []string // the program's arguments before a session's id with which a person resumes it
	PromptArgs []string // the program's arguments before the first prompt with which a person begins a session
}

// Logs are what a host writes of its sessions.
type Logs struct {
	Formats transcripts.Formats
	Example string                 // where the logs of some project are, for people
	In      func(m Machine) string // returns the folder with the logs of all sessions, or the file
	DB      func(m Machine) string // returns the path of its one log of all sessions; nil: each session has its own
	// Newest returns the newest session of the machine's project; none has the zero time.
	Newest func(ctx context.Context, m Machine) (LoggedSession, error)
}

// Events are how a host tells what happens in its sessions, and who calls flame's tools.
type Events struct {
	Hook          Hook                      // handles them
	Tool          *HookTool                 // how they reach a running server; nil: none does
	Patience      time.Duration             // how long the host waits for the hook's answer
	Compact       func(event []byte) []byte // returns what is worth keeping of one that could not be handled in time; nil: all of it
	Streams       bool                      // its plugin starts one flame hook --stream for all of them
	SessionsEnded func(ids []string) []byte // makes the event that the sessions with these ids have ended with their process
	Docs          func() []EventDoc         // documents what Hook does with each
	ClientName    string                    // by which its MCP client introduces itself to servers; empty: the host's name
	CallID        string                    // the key under which a tool call sends its id to the server
	Announces     bool                      // its hook announces who makes a call of flame's tools: neither the call nor an argument can say so
}

// A Key is a key of agent definitions that only its host understands.
type Key struct {
	Name     string
	Passed   bool // Launch passes it on
	Commands bool // it makes the host run commands, or may: it is passed on only from the user's own definitions
}

// Key returns the key of a name, or the zero value if the host has no such key.
func (h Host) Key(name string) Key {
	key, _ := lo.Find(h.Agents.Keys, func(k Key) bool { return k.Name == name })
	return key
}

// A Folder is a folder in which a host looks for definitions of agents.
type Folder struct {
	Path   string // absolute; otherwise the folder is ignored
	Scope  Scope
	Nested bool // subfolders count, and name what they contain
}

// A LoggedSession is a session in a host's logs.
type LoggedSession struct {
	Path    string // of the log
	Session string // in a log of all sessions; else empty
	At      time.Time
}

// A Client is a host's program on a machine.
type Client interface {
	Setup
	Launcher
}

// HasGateway reports whether a gateway can stand between the host and its model.
func (h Host) HasGateway() bool { return h.Gateway.Spec != nil && h.Gateway.Plan != nil }

// Installed reports whether the host is on PATH.
func (h Host) Installed(m Machine) bool { _, err := m.LookPath(h.Program); return err == nil }

// Find returns the path of the host's program, or a Problem of kind
// core.ErrNotFound with ByHand as hint.
func (h Host) Find(m Machine) (string, error) {
	path, err := m.LookPath(h.Program)
	if err != nil {
		return "", core.NotFoundf("%s is not installed: no %q on PATH", h.Name, h.Program).
			WithHint("install it and run this again, or register flame by hand:\n%s", h.Setup.Manual)
	}
	return path, nil
}

// On returns the host's own command line on a machine.
func (h Host) On(m Machine) (Program, error) {
	path, err := h.Find(m)
	return Program{Machine: m, Name: h.Program, Path: path}, err
}

// SessionID returns the id for a new session, or "" if the host makes it.
func (h Host) SessionID() string {
	if h.Sessions.New == nil {
		return ""
	}
	return h.Sessions.New()
}

// ResumeCommand returns the command with which a person resumes a session.
func (h Host) ResumeCommand(m Machine, session string) ([]string, error) {
	return h.command(m, h.Sessions.ResumeArgs, session)
}

// StartCommand returns the command with which a person begins a session with a prompt.
func (h Host) StartCommand(m Machine, prompt string) ([]string, error) {
	return h.command(m, h.Sessions.PromptArgs, prompt)
}

func (h Host) command(m Machine, words []string, last string) ([]string, error) {
	program, err := h.Find(m)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]string{program}, words, []string{last}), nil
}

// RunsModel reports whether the host accepts a model's name.
func (h Host) RunsModel(model string) bool {
	return h.Agents.AcceptsModel == nil || h.Agents.AcceptsModel(model)
}

// HasTool reports whether the host is known to have a tool; patterns and tools of
// MCP servers are left to the host.
func (h Host) HasTool(tool string) bool {
	if strings.ContainsAny(tool, "*?") || strings.Contains(tool, h.Tools.MCPSeparator) || strings.Contains(tool, "flame") {
		return true
	}
	_, found := h.Tools.Own.find(tool)
	return found
}

// A HookEnv is what a host's hook works with.
type HookEnv struct {
	Project *project.Project
	Agent   string          // id of the agent in whose process the event happened; empty outside of agents
	Marks   []turns.EventID // of the event, if it may come again
	// OwnTool reports whether flame has a tool of exactly this name, without
	// the host's prefix. It is called only for calls that may be of such a
	// tool.
	OwnTool func(name string) bool
}

// A Hook handles one event of a host, a JSON document, and returns the answer
// that the host expects, or nothing. It ignores events that it does not know.
// An error is for the log: the host must never fail because of it. If the error
// is core.ErrUnavailable, flame handles the event again later; the answer beside
// it then contains nothing that depends on stored data.
type Hook func(ctx context.Context, flame HookEnv, event []byte) (answer []byte, err error)

// An EventDoc says what flame does with one kind of event of a host.
type EventDoc struct {
	Event string
	Tools string // a regular expression for the names of the tools concerned; empty: any, or none
	Does  string
	By    string // how it reaches flame; empty: as all of the host's do
}

// HookTool say how a host reports events by calling a tool of the server that its session
// runs, instead of starting flame hook for each.
type HookTool struct {
	// Tool is the name of the tool, which the server does not list.
	Tool string
	// Event returns the event of a call, as Hook takes it, and the folder that it happened
	// in; empty if the call does not say. Arguments of an unexpected type are left out.
	Event func(arguments json.RawMessage) (event []byte, folder string, err error)
	// Silence returns an answer without content, in the form that the host expects.
	Silence func(event []byte) string
}

// A Launcher runs agents in a host.
type Launcher interface {
	// Launch returns the command for a child. It returns a Problem if the child
	// cannot be run with the tools and mode that it may have.
	Launch(c LaunchSpec) (Launch, error)
}

// A LaunchSpec is what a host needs to know to run an agent.
type LaunchSpec struct {
	ID       string   // subagent_id
	Session  string   // its session in the host: chosen for a new one if the host allows that, else the one to resume
	Resume   bool     // resume Session
	Prompt   string   // the task, with its context
	System   string   // the definition's instructions; may be empty
	Title    string   // of its session
	Mode     Mode     // effective
	Tools    ToolSet  // effective
	Trusted  []string // entries of Tools that allow what they name, besides limiting the set
	Strange  bool     // it works in a repository of another machine, whose settings, hooks and servers are not to be run
	Foreign  bool     // its caller lives in another host, whose mode means something else here
	Model    string   // empty: the host's choice
	Effort   string   // empty: the host's choice
	MaxTurns int      // 0: no limit
	CostUSD  float64  // 0: no limit
	Dir      string   // the agent's folder, for files that the host reads
	Flame    string   // the program to register as MCP server

	HostKeys map[string]json.RawMessage // of its definition: keys that only its host understands
}

// A Launch is how a host is started for a child.
type Launch struct {
	Command []string
	Env     []string // NAME=value, on top of the caller's
	Stdin   string   // what the host reads
	Fatal   string   // words on stderr by which the host says that it does not follow this
}
