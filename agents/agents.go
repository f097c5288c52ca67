// Package agents starts, follows and ends agents, and keeps their work. Package definition
// says what an agent is, plan decides what an agent may do, record keeps what flame knows of
// it, supervise watches its process, converge merges several results into one, and graph shows
// which agent started which. The package of each host builds the command that starts it.
package agents

import (
	"context"
	"io"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// Agents starts and follows the agents of one project.
type Agents struct {
	plan.Setup              // Catalog reads the definitions at each call
	Root             string // the project's folder; processes that work for an agent find the project by it
	Program          string // flame itself: it supervises agents, and is their MCP server
	KeepAfterSession bool   // agents continue when the session that asked for them ends

	OpenGate OpenGateway // nil: agents have no gateways

	Remote RemoteRunner // nil: agents run on this machine alone

	// Start starts the supervisor of an agent, as supervise.Start does.
	Start func(ctx context.Context, seat supervise.StartSpec) (supervise.Process, error)
}

// planner returns the planner for one operation, which reads the definitions of a checkout
// once. One goroutine uses it.
func (a *Agents) planner() plan.Planner {
	read := map[string]definition.Catalog{}
	catalog := func(checkout string) definition.Catalog {
		if _, known := read[checkout]; !known {
			read[checkout] = a.Catalog(checkout)
		}
		return read[checkout]
	}
	planner := plan.Planner(a.Setup)
	planner.Catalog = catalog
	return planner
}

// Folder returns the path of an agent's own folder.
func (a *Agents) Folder(id string) string { return record.Folder(a.Data, id) }

// A Gateway is the gateway of one agent, between its host and the model.
type Gateway struct {
	Env  []string // NAME=value, for any host: the gateway of the session around the agent may end before the agent
	Base string   // the base URL for the host; empty: there is no gateway, and of the rest only Close is set
	Mark string   // NAME=value, for processes of the host
	// For are the base URLs for which the gateway stands: requests that the host would send elsewhere
	// do not pass it, as they have the key of another provider.
	For []string

	Write func(settings []byte) (file string, err error) // writes a settings file that only this user can read
	Close func()                                         // stores the measured usage and ends the gateway; it may be called again
}

// An OpenGateway opens the gateway of an agent, which calls metered for each answered request
// with its usage, and with whether a subagent of the host itself sent it. It returns nil if
// the session has no gateway.
type OpenGateway func(host hosts.Host, agent string, metered func(used core.Usage, below bool)) (*Gateway, error)

// RemoteRunner runs agents on the workers of other machines. Without a connection its methods
// return core.ErrUnavailable.
type RemoteRunner interface {
	// Ready returns an error if no agent can run elsewhere. It sends no request.
	Ready() error
	// Unserved returns a sentence if no worker serves a queue. It sends no request, and
	// returns "" if a worker serves the queue or if that is unknown.
	Unserved(queue string) string
	// Run puts work into a queue and calls see with its state until it is over or ctx ends. It
	// may be called again for the same work. It reconnects.
	Run(ctx context.Context, e RemoteTask, see func(RemoteProgress)) error
	// Cancel asks the worker to stop an agent, or removes the agent from its queue.
	Cancel(ctx context.Context, id, why string) error
	// Fetch writes the object that the worker left under a name, at most the given number of
	// bytes.
	Fetch(ctx context.Context, name string, to io.Writer, most int64) error
}

// A RemoteTask is work for an agent elsewhere.
type RemoteTask struct {
	Queue   string
	Retries int // how often another worker may restart the work if its worker is lost
	Work    record.Task
}

// A RemoteProgress is the progress of an agent elsewhere.
type RemoteProgress struct {
	Attempt int    // number of the worker, 1 for the first
	Begun   bool   // a worker has it
	Over    bool   // this is the last sight
	Lost    string // why the end of the agent is unknown; empty if it is known
	Report  record.Report
}

// NoHubError returns the error for an agent that is to run elsewhere in a project without a
// hub.
func NoHubError() error {
	return core.Invalidf("agents run on other machines only in projects that have joined a hub").
		WithHint("`flame hub` runs one, `flame join` joins it, and `flame worker` runs agents there; leave the queue out to run the agent here")
}

// reach returns an error if agents cannot run elsewhere. It sends no request.
func reach(e RemoteRunner) error {
	if e == nil {
		return NoHubError()
	}
	return e.Ready()
}

// Find returns the record of an agent by its id, or by a prefix that only one id has.
func (a *Agents) Find(ctx context.Context, id string) (record.Agent, error) {
	return project.Read(ctx, a.Project, func(tx project.Tx) (record.Agent, error) { return find(tx, id) })
}

// find is record.Find; for an agent of another machine, its error names that machine.
func find(tx project.Tx, id string) (record.Agent, error) {
	run, err := record.Find(tx, id)
	return run, record.ExplainNotFound(tx, id, err)
}

// AgentsBelow returns the agents below an agent, at any depth, the newest first. For an empty id it
// returns all agents of the project.
func (a *Agents) AgentsBelow(ctx context.Context, id string) ([]record.Agent, error) {
	return project.Read(ctx, a.Project, func(tx project.Tx) ([]record.Agent, error) {
		if id == "" {
			return record.List(tx)
		}
		return record.AgentsBelow(tx, id)
	})
}

// Running returns the agents that are not settled yet.
func (a *Agents) Running(ctx context.Context) ([]record.Agent, error) {
	return project.Read(ctx, a.Project, record.UnsettledAgents)
}

// Result returns the result of an agent.
func (a *Agents) Result(ctx context.Context, id string) (record.Result, error) {
	return project.Read(ctx, a.Project, func(tx project.Tx) (record.Result, error) {
		r, err := record.ResultOf(tx, a.Data, id)
		return r, record.ExplainNotFound(tx, id, err)
	})
}

// RemoteAgents returns the agents of the project's other machines, from the last reports of those
// machines.
func RemoteAgents(ctx context.Context, p *project.Project) ([]record.RemoteAgent, error) {
	return project.Read(ctx, p, func(tx project.Tx) ([]record.RemoteAgent, error) { return record.ListRemote(tx, p.Now()) })
}
