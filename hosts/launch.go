package hosts

import "encoding/json"

// A Launcher runs agents in a host.
type Launcher interface {
	// NewSession returns the id for a new session, or "" if the host makes it.
	NewSession() string
	// Launch returns the command for a child. It returns a Problem if the child
	// cannot be run with the tools and mode that it may have.
	Launch(c Child) (Launch, error)
	// Talk returns the command with which a person resumes a session.
	Talk(session string) ([]string, error)
	// Resumes reports whether a session can be resumed by its id, which in some
	// hosts does not hold for the host's own subagents.
	Resumes(session string) bool
}

// A Child is what a host needs to know to run an agent.
type Child struct {
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
