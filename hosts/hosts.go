// Package hosts is what flame knows of the programs that agents live in: a Host
// is one of them, and what differs between them is in that host's own package.
// What they share is here: the registry, the machine that setups act on and the
// steps of their plans, tools and modes, and flame's own binary.
package hosts

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/turns"
	"flame/transcripts"
)

// A Host is everything flame knows of one host; that host's package makes it.
// Only Name, Title, Program, Resumes and Client are required; an empty field means that the
// host has no such thing.
type Host struct {
	Name        string // flame's name for it, everywhere
	Title       string // for people
	Program     string // its binary, found on PATH
	Adds        string // what a setup adds to it, in words
	ManualSetup string // the lines that register flame's server without a setup
	Leaves      string // what the host itself keeps of flame's after a setup was undone, in words; empty: nothing
	Burden      int64  // tokens that flame, as set up, adds to each request (measured: its bytes in a first request, four for a token)

	SessionVariable string   // the environment variable that holds the session, for processes inside of it
	FolderVariable  string   // the environment variable that holds the folder in which the session was started
	MarkerVariable  string   // the environment variable that each process inside of it has
	UnsetForAgents  []string // set for processes inside of it; in an agent they would be mistaken for its own session
	ClientName      string   // by which its MCP client introduces itself to servers; empty: Name
	CallID          string   // the key under which a tool call sends its id to the server
	Announces       bool     // its hook announces who makes a call of flame's tools: neither the call nor an argument can say so

	Settings             []string                 // files and folders that give a folder its own settings
	AcceptsModel         func(model string) bool  // nil: any
	Tools                Tools                    // its own
	HasCanonicalTools    bool                     // its tool names are the common ones, through which tools are translated
	MCPSeparator         string                   // separates the parts of its names for tools of MCP servers
	Agents               map[string][]string      // built in, with the tools that they lack
	Keys                 []Key                    // of definitions, which only it understands
	SharedEditPermission bool                     // one permission covers all its tools that change files
	Rules                []string                 // its permissions that are not tied to a tool
	Definitions          func(m Machine) []Folder // returns where it looks for definitions of agents, in ascending precedence

	Logs   transcripts.Formats // the formats of its logs
	LogsAt string              // where the logs of some project are, as an example for people
	// LogsIn returns the folder with the logs of all sessions, or the file.
	LogsIn    func(m Machine) string
	RunFormat *transcripts.Format    // the format that its program prints when it runs an agent
	SessionDB func(m Machine) string // returns the path of its one log of all sessions; nil: each session has its own
	// Newest returns the newest session of the machine's project; none has the zero time.
	Newest func(ctx context.Context, m Machine) (LoggedSession, error)

	// NewSession returns the id for a new session; nil: the host makes it.
	NewSession func() string
	// Resumes reports whether a session can be resumed by its id, which in some
	// hosts does not hold for the host's own subagents.
	Resumes    func(session string) bool
	ResumeArgs []string // the program's arguments before a session's id with which a person resumes it
	PromptArgs []string // the program's arguments before the first prompt with which a person begins a session

	Hook               Hook                      // handles its events
	HookTool           *HookTool                 // how its events reach a running server; nil: none does
	Patience           time.Duration             // how long the host waits for the hook's answer
	CompactEvent       func(event []byte) []byte // returns what is worth keeping of an event that could not be handled in time; nil: all of it
	Streams            bool                      // its plugin starts one flame hook --stream for all its events
	SessionsEndedEvent func(ids []string) []byte // makes the event that the sessions with these ids have ended with their process
	Events             func() []EventDoc         // documents what Hook does with each
	Client             func(m Machine) Client    // returns its program on a machine
	Gateway            *GatewaySpec              // how it speaks with its model; nil: flame has no gateway for it
	BaseVariable       string                    // the environment variable that holds the base URL of its model's API
	BaseSetting        string                    // its setting that holds that URL, if no variable does
	// SetsVariable returns a file among the project's own settings that may set an
	// environment variable for the host's processes; empty if none does. nil: a project
	// cannot set any.
	SetsVariable      func(m Machine, name string) (file string)
	Shown             StatusLineContext // reads where its status line is shown; nil: it has none
	PlanGatewayLaunch GatewayLauncher   // how a command line of its program runs behind a gateway; nil: none does
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
func (h Host) HasGateway() bool { return h.Gateway != nil && h.PlanGatewayLaunch != nil }

// Installed reports whether the host is on PATH.
func (h Host) Installed(m Machine) bool { _, err := m.LookPath(h.Program); return err == nil }

// Find returns the path of the host's program, or a Problem of kind
// core.ErrNotFound with ByHand as hint.
func (h Host) Find(m Machine) (string, error) {
	path, err := m.LookPath(h.Program)
	if err != nil {
		return "", core.NotFoundf("%s is not installed: no %q on PATH", h.Name, h.Program).
			WithHint("install it and run this again, or register flame by hand:\n%s", h.ManualSetup)
	}
	return path, nil
}

// SessionID returns the id for a new session, or "" if the host makes it.
func (h Host) SessionID() string {
	if h.NewSession == nil {
		return ""
	}
	return h.NewSession()
}

// ResumeCommand returns the command with which a person resumes a session.
func (h Host) ResumeCommand(m Machine, session string) ([]string, error) {
	return h.command(m, h.ResumeArgs, session)
}

// StartCommand returns the command with which a person begins a session with a prompt.
func (h Host) StartCommand(m Machine, prompt string) ([]string, error) {
	return h.command(m, h.PromptArgs, prompt)
}

func (h Host) command(m Machine, words []string, last string) ([]string, error) {
	program, err := h.Find(m)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]string{program}, words, []string{last}), nil
}

// RunsModel reports whether the host accepts a model's name.
func (h Host) RunsModel(model string) bool { return h.AcceptsModel == nil || h.AcceptsModel(model) }

// HasTool reports whether the host is known to have a tool; patterns and tools of
// MCP servers are left to the host.
func (h Host) HasTool(tool string) bool {
	if strings.ContainsAny(tool, "*?") || strings.Contains(tool, h.MCPSeparator) || strings.Contains(tool, "flame") {
		return true
	}
	_, found := h.Tools.find(tool)
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

// A GatewayLaunch is how a host's program is started behind a gateway of flame's,
// through which its requests to the model go.
type GatewayLaunch struct {
	Plain    bool     // the command line asks for nothing that a gateway could serve: the program runs as it is
	Upstream *url.URL // base URL of the model, as the program would use it; never one that a project names
	Notes    []string // for the person: what is not as they may expect

	// Network are the variables by which requests reach the network, proxies and
	// certificates, each with its value for the gateway; empty: it is not set. As the
	// upstream, they are never those that a project names.
	Network map[string]string

	// Settings returns the content of a settings file with which the program
	// sends its requests to a base URL, and with a mark (NAME=value) for the
	// processes below it; nil: the program needs no file.
	Settings func(base, mark string) ([]byte, error)
	// Args returns the command line with that file, or the base URL, in it.
	Args func(file, base string) []string
	// Env returns variables of the program, NAME=value, for the same; nil: the file
	// has all.
	Env func(base, mark string) []string
}

// Unheard returns the note that a gateway leaves nothing out as long as the host keeps its events
// from flame, as consent says; none if the host tells them.
func Unheard(consent core.Finding) []string {
	if !consent.Todo && !consent.Broken {
		return nil
	}
	return []string{consent.What + "; until then flame knows no frames of this session, and leaves nothing out: " + consent.Hint}
}

// Start writes the settings file, if there is one, and returns the command line and the
// variables with which the program sends its requests to a base URL.
func (b GatewayLaunch) Start(base, mark string, write func(settings []byte) (file string, err error)) (args, env []string, err error) {
	file := ""
	if b.Settings != nil {
		settings, err := b.Settings(base, mark)
		if err != nil {
			return nil, nil, err
		}
		if file, err = write(settings); err != nil {
			return nil, nil, err
		}
	}
	if b.Env != nil {
		env = b.Env(base, mark)
	}
	return b.Args(file, base), env, nil
}

// GatewayLauncher returns how a command line of a host's program runs behind a gateway.
type GatewayLauncher func(m Machine, args []string) (GatewayLaunch, error)

// StatusLineContext reads what a host tells the command of its status line about where the line is shown;
// ok is false if the document is not of this host.
type StatusLineContext func(document []byte) (at LinePlace, ok bool)

// A LinePlace is where a status line is shown.
type LinePlace struct {
	Session string // of the host
	Folder  string // that the session was started in; an absolute path
}

// LinePlace returns what a host tells in a document to the command of its status line; it is
// zero if the document is of none of them.
func (r Registry) LinePlace(document []byte) LinePlace {
	for _, h := range r {
		if h.Shown == nil || len(document) == 0 {
			continue
		}
		if at, ok := h.Shown(document); ok {
			return at
		}
	}
	return LinePlace{}
}

// An API is the form in which a model takes requests and answers them.
type API string

// The APIs that gateways know.
const (
	MessagesAPI  API = "messages"  // Anthropic's Messages API
	ResponsesAPI API = "responses" // OpenAI's Responses API
	ContentsAPI  API = "contents"  // Google's Gemini API
)

// A GatewaySpec is how a host speaks with its model, so that a gateway can stand between them.
type GatewaySpec struct {
	API   API      // of the requests to the model
	Lines []string // command lines that show its program, behind the program's name
	Folds bool     // the API documents what a changed past means: gateways fold unless the user says otherwise
	Waits bool     // where it cannot connect, the host waits for the network; errors of a server it counts
	// NoSessionID says that requests do not name their session: it is the one whose hooks run behind the
	// gateway. Nor do answers have the ids that they have in the host's log. Flame counts the answers
	// of conversations there, and only the others as the gateway reports them.
	NoSessionID bool
	// RequestInfo returns what the headers and the body of a request say about it; the body is nil if it is
	// too long.
	RequestInfo func(h http.Header, body []byte) RequestInfo
	Tools       Tools // the host's own; facts about a frame come from what they did
	// FlameTool returns which of flame's operations a tool is; empty for the tools of others.
	FlameTool func(tool string) op.Name
	// UserWords returns the user's words in a text that the host sends in a message of the
	// user's or of role system; empty if all of it is the host's own.
	UserWords func(text string, system bool) string
	// Dialog returns what the user said in the result of a call of a tool, and its zero value if
	// that is nothing. Tools of others may write what they like: it believes only the host's own.
	// nil: users say nothing there.
	Dialog func(tool, result string, failed bool) Dialog
	// KeepsText reports whether one of the host's own texts stays in requests when the work
	// around it goes; nil: none does.
	KeepsText func(text string) bool
	// Answer returns the answer of one of flame's tools in a text that the host made of
	// it; nil: it is the whole text.
	Answer func(text string) string
	// Report returns a subagent's own words in the result of the call that started it, empty while it works; nil:
	// results have none.
	Report func(result string) string
	// IsSummary reports whether a text of the user's is the result of a compaction.
	IsSummary func(text string) bool
	// Usage returns what an answer used, with its price: usage is from its message, final from
	// its end, if the API reports both.
	Usage func(model string, usage, final []byte) core.Usage
	// Prices returns the price of a token read from the cache, and of a token written to it for
	// an hour or the usual time, relative to an uncached token; 0 if unknown.
	Prices func(model string, hour bool) (read, write float64)
}

// A RequestInfo is what a request says about itself.
type RequestInfo struct {
	Session string // of the host; empty if it does not say
	Agent   string // id of the native subagent that asks; empty for the session itself
	Class   Class
	Window  int // tokens that the model is to take; 0: as is usual
}

// A Class is what a request is for. Others than those below are possible.
type Class string

// The classes of requests.
const (
	ClassMain       Class = "main"
	ClassSubagent   Class = "subagent"
	Workflow        Class = "workflow"
	ClassCompaction Class = "compaction" // it asks for a summary
	ClassAuxiliary  Class = "auxiliary"  // beside the conversation
)

// Converses reports whether the request has the sender's conversation so far.
func (a RequestInfo) Converses() bool {
	switch a.Class {
	case ClassMain, ClassCompaction:
		return true
	case ClassSubagent, Workflow:
		return a.Agent != ""
	}
	return false
}
