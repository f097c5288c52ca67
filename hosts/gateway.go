package hosts

import (
	"net/http"
	"net/url"
	"strings"

	"flame/core"
	"flame/core/op"
)

// GatewayFacts are how a gateway comes between a host and its model.
type GatewayFacts struct {
	Spec         *GatewaySpec      // how it speaks with its model; nil: flame has no gateway for it
	Plan         GatewayLauncher   // how a command line of its program runs behind a gateway; nil: none does
	BaseVariable string            // the environment variable that holds the base URL of its model's API
	BaseSetting  string            // its setting that holds that URL, if no variable does
	StatusLine   StatusLineContext // reads where its status line is shown; nil: it has none
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

// ParseBase reads the base URL of a model's API; what is what it is, for an error.
func ParseBase(value, what string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimSpace(value))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, core.Invalidf("%s is not the URL of a server", what).WithHint("it must begin with https:// or http:// and a host")
	}
	return base, nil
}

// NoFoldingNote returns the note that a gateway leaves nothing out as long as the host keeps its events
// from flame, as consent says; none if the host tells them.
func NoFoldingNote(consent core.Finding) []string {
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
	Class   RequestClass
	Window  int // tokens that the model is to take; 0: as is usual
}

// A RequestClass is what a request is for. Others than those below are possible.
type RequestClass string

// The classes of requests.
const (
	ClassMain       RequestClass = "main"
	ClassSubagent   RequestClass = "subagent"
	Workflow        RequestClass = "workflow"
	ClassCompaction RequestClass = "compaction" // it asks for a summary
	ClassAuxiliary  RequestClass = "auxiliary"  // beside the conversation
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
