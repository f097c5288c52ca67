package hosts

import "encoding/json"

// A Launcher runs agents in a host.
type Launcher interface {
	// NewSession returns the id for a new session; empty where the host makes it.
	NewSession() string
	// Launch returns the command for a child. One that cannot be run with the tools
	// and mode that it may have is a Problem.
	Launch(c Child) (Launch, error)
	// Talk returns the command with which a person goes on in a session.
	Talk(session string) ([]string, error)
	// Resumes reports whether a session may be gone on in by its id: that of a
	// host's own subagent is not one everywhere.
	Resumes(session string) bool
}

// A Child is what a host must know to run an agent.
type Child struct {
	ID       string   // subagent_id
	Session  string   // its session in the host: chosen for a new one where the host lets us, else the one to go on with
	Resume   bool     // go on in Session
	Prompt   string   // the task, with its context
	System   string   // the definition's instructions; may be empty
	Title    string   // of its session
	Mode     Mode     // effective
	Tools    ToolSet  // effective
	Trusted  []string // entries of Tools that allow what they name, beside limiting the set
	Foreign  bool     // whoever asked for it lives in another host, whose mode means something else here
	Model    string   // empty: the host's own choice
	Effort   string   // likewise
	MaxTurns int      // 0: no limit
	CostUSD  float64  // 0: no limit
	Dir      string   // the agent's folder, for files that the host reads
	Flame    string   // the program to register as MCP server

	HostKeys map[string]json.RawMessage // of its definition: what only its host understands
}

// A Launch is how a host is started for a child.
type Launch struct {
	Command []string
	Env     []string // NAME=value, on top of the caller's
	Stdin   string   // what the host reads
	Fatal   string   // words on stderr by which the host tells that it does not keep to this
}
