package agents

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// Agents starts and follows the agents of one project.
type Agents struct {
	Project *project.Project
	Data    string // the project's data folder; an agent's own is agents/<subagent_id> in it
	Dir     string // where agents work that name no folder
	Program string // flame itself: it supervises, and is the MCP server of its agents
	Hosts   []Host // in order of preference, for callers that live in none of them
	Host    string // that agents run in, whatever the caller's; empty: the caller's
	Catalog func() Catalog
	Bounds  Bounds
	Keep    bool // agents go on when the session that asked for them ends

	// Start starts the supervisor of the job in dir, as supervise.Start does.
	Start func(ctx context.Context, program, dir string) (supervise.Process, error)
}

// A Host runs agents (hosts/claudecode, hosts/opencode).
type Host interface {
	// Name is what flame calls it.
	Name() string
	// Installed reports whether it can be found.
	Installed() bool
	// NewSession gives the id for a new session; empty where the host makes it.
	NewSession() string
	// Launch gives the command for a child. One that cannot be run with the tools
	// and mode that it may have is a Problem.
	Launch(c Child) (Launch, error)
	// Talk gives the command with which a person goes on in a session.
	Talk(session string) ([]string, error)
	// Keys lists the keys of definitions that Launch hands on to the host.
	Keys() []string
	// Resumes reports whether a session may be gone on in by its id: that of a
	// host's own subagent is not one everywhere.
	Resumes(session string) bool
}

// Bounds limit what may be spawned below one user's session (spec: agents §4).
type Bounds struct {
	Depth      int   // levels of agents below it
	Total      int   // agents in all
	Concurrent int   // at one time
	Tokens     int64 // of all together; 0: no limit
	CostUSD    float64
	Each       supervise.Limits // of one agent, where neither call nor definition says otherwise
}

// DefaultBounds are those of spec agents §4 and §8.
func DefaultBounds() Bounds {
	return Bounds{Depth: 3, Total: 32, Concurrent: 4, Each: supervise.Limits{
		Start: time.Minute, Idle: 10 * time.Minute, Wall: 5 * time.Minute,
		SameCalls: 20, Stale: 60, Retries: 3, Output: 512 << 20,
	}}
}

// host gives the one that an agent of this definition runs in.
func (a *Agents) host(def Definition, callers string) (Host, error) {
	for _, name := range []string{def.Host, a.Host, callers} {
		for _, host := range a.Hosts {
			if host.Name() == name {
				return host, nil
			}
		}
		if name != "" && name != callers {
			return nil, core.Invalidf("agents cannot run in %q", name).WithHint("set host in the definition, or FLAME_AGENT_HOST, to %s", strings.Join(hostNames(), " or "))
		}
	}
	if i := slices.IndexFunc(a.Hosts, Host.Installed); i >= 0 {
		return a.Hosts[i], nil
	}
	return nil, core.NotFoundf("no host is installed that an agent could run in").WithHint("%s", install())
}

// A Request asks for an agent.
type Request struct {
	Type         string          // name of a definition
	Inline       json.RawMessage // a definition in the call itself, instead
	Prompt       string          // the task
	Description  string          // it in a few words
	Mode         Mode            // empty: as definition and parent say
	Tools        *[]string
	Model        string
	Timeout      time.Duration
	Frame        string // that its own goes below; empty: the caller's current one
	Cwd          string
	Isolation    Isolation // empty: as the definition says
	Bare         bool      // without the context of its frame
	Key          string    // the same one again gives the agent that is there
	BudgetTokens int64
	BudgetUSD    float64
	Call         string // the host's id of the tool call that asks; empty where it tells none
	Grant        string // id of one that a person made for this agent alone

	session string // of the host, that it goes on in; empty for a new one
}

// maxPrompt bounds a task, in bytes.
const maxPrompt = 200_000

// check refuses what cannot be right, whatever the tree is like.
func (r Request) check() error {
	switch {
	case strings.TrimSpace(r.Prompt) == "":
		return core.Invalidf("prompt is missing").WithHint("say what the agent is to do, and all that it must know: it does not see this conversation")
	case len(r.Prompt) > maxPrompt:
		return core.Invalidf("the prompt has %d bytes; at most %d are taken", len(r.Prompt), maxPrompt).WithHint("put what is long into a file and name that")
	case r.Type == "" && len(r.Inline) == 0:
		return core.Invalidf("subagent_type is missing").WithHint("name the kind of agent, for example builder, tester, analyzer or retriever; `flame agents list` shows all")
	case r.Timeout < 0 || r.BudgetTokens < 0 || r.BudgetUSD < 0:
		return core.Invalidf("timeout and budgets cannot be negative").WithHint("leave them out for the defaults")
	}
	if r.Isolation != "" {
		if err := core.OneOf("isolation", r.Isolation); err != nil {
			return err
		}
	}
	if strings.HasPrefix(r.Model, "-") {
		return core.Invalidf("model %q is none", r.Model).WithHint("name it as the host does")
	}
	if r.Tools != nil {
		for _, tool := range *r.Tools {
			if !validTool(tool) {
				return core.Invalidf("%q is no tool", tool).WithHint("give names of tools, such as Read, or with a rule, such as Bash(go test *)")
			}
		}
	}
	if r.Mode != "" {
		if _, err := ParseMode(string(r.Mode)); err != nil {
			return err
		}
	}
	return nil
}
