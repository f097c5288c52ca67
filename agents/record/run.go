package record

import (
	"encoding/json"

	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
)

// An Agent is the record of one agent, from its request on.
type Agent struct {
	ID            string            `json:"subagent_id"`
	Tree          string            `json:"tree"`                  // session at the root of its tree
	ParentSession string            `json:"parentSession"`         // session that asked for it
	ParentAgent   string            `json:"parentAgent,omitempty"` // agent of that session; empty for a user's session
	Session       string            `json:"session,omitempty"`     // its session in the host; empty until known
	Resumes       bool              `json:"resumes,omitempty"`     // it continues in Session
	Frame         string            `json:"frame"`
	Depth         int               `json:"depth"` // 1 for a child of a user's session
	Host          string            `json:"host"`
	CrossHost     bool              `json:"foreign,omitempty"` // its caller is in another host
	Type          string            `json:"agentType"`         // name of its definition
	Source        definition.Source `json:"definition"`        // place of its definition
	Digest        string            `json:"definitionDigest"`  // of the definition at the time of the request
	Description   string            `json:"description"`
	Prompt        string            `json:"prompt"` // the task, cut to MaxPrompt characters
	Mode          ModeChoice        `json:"permissionMode"`
	Tools         hosts.ToolSet     `json:"tools"`
	Commands      []string          `json:"commands,omitempty"`       // rules in Tools by which it may run commands in any mode
	DelegateTools []string          `json:"delegateGrants,omitempty"` // tools that its children may have although it may not, with a person's consent
	Model         string            `json:"model,omitempty"`
	Limits        supervise.Limits  `json:"limits"`
	MaxDepth      int               `json:"maxDepth"`              // of the agents below it, counted from the root
	MaxChildren   int               `json:"maxChildren,omitempty"` // 0: as many as the tree may have
	Children      int               `json:"children,omitempty"`    // number of agents that it started
	ResumedFrom   string            `json:"resumedFrom,omitempty"` // agent whose work it continues
	Call          string            `json:"callId,omitempty"`      // tool call of the parent's host that asked for it
	Key           string            `json:"idempotencyKey,omitempty"`
	Schema        json.RawMessage   `json:"resultSchema,omitempty"`
	Background    bool              `json:"background"` // the caller does not wait for its end unless the call says so
	Checkout      string            `json:"checkout"`   // checkout of the project in which it was requested
	Cwd           string            `json:"cwd"`
	Base          string            `json:"base,omitempty"`     // its first commit; empty outside of git
	Worktree      string            `json:"worktree,omitempty"` // its own worktree, if it has one
	SpentUSD      float64           `json:"spentUSD,omitempty"` // earlier cost of Session, which hosts include
	Spent         core.Usage        `json:"spent,omitzero"`     // earlier usage of Session, which some hosts include
	Unread        string            `json:"unread,omitempty"`   // why the changes in Worktree could not be read, and where they are; empty: Changes has all
	Warnings      []string          `json:"warnings,omitempty"`
	Queue         string            `json:"on,omitempty"`      // queue of the worker that runs it on another machine; empty: it runs on this machine
	Retries       int               `json:"retries,omitempty"` // how often another worker may restart it if its worker is lost
	Worker        string            `json:"worker,omitempty"`  // id of the worker's machine, once it has begun
	Attempt       int               `json:"attempt,omitempty"` // 1 for the first worker
	Lost          core.Usage        `json:"lost,omitzero"`     // usage of attempts whose workers were lost
	Requester     string            `json:"for,omitempty"`     // id of the machine that asked for it, if this one is its worker
	RemoteID      string            `json:"asked,omitempty"`   // its id on that machine

	Charged           core.Usage `json:"charged,omitzero"` // usage that its frames have been charged with so far
	SubagentsSeparate bool       `json:"apart,omitempty"`  // its host's own subagents have frames that count their usage

	State          core.AgentState    `json:"state"`
	Progress       supervise.Progress `json:"progress,omitzero"`
	CancelledBy    string             `json:"cancelledBy,omitempty"`    // who asked it to stop
	Outcome        *supervise.Outcome `json:"outcome,omitempty"`        // once final
	Changes        []changes.Change   `json:"changes,omitempty"`        // to files, by its own tools, once final
	ArtifactHashes map[string]string  `json:"artifactHashes,omitempty"` // hashes of artifacts that are files, at its end
	CreatedAt      core.Millis        `json:"createdAt"`
	EndedAt        core.Millis        `json:"endedAt,omitempty"`
}

// A ModeChoice is the mode of a child and how flame chose it.
type ModeChoice struct {
	Requested hosts.Mode `json:"requested,omitempty"` // by the call or else by the definition; empty: by neither
	Effective hosts.Mode `json:"effective"`
	CappedBy  string     `json:"cappedBy,omitempty"` // what lowered it: "parent" or "grant"; empty: nothing did
	Grant     string     `json:"grant,omitempty"`    // id of the grant that allows it
}

// MaxPrompt is the length limit of the task in the record, in characters. The assignment has
// the whole task.
const MaxPrompt = 20_000

// IsRemote reports whether the agent runs on another machine.
func (r Agent) IsRemote() bool { return r.Queue != "" }

// OwnWorktree returns the agent's own worktree.
func (r Agent) OwnWorktree() changes.Worktree { return changes.Worktree{Dir: r.Worktree, Base: r.Base} }

// OutcomeOf returns the word for the outcome of a final state (seed 004).
func OutcomeOf(state core.AgentState) string {
	switch state {
	case core.AgentCompleted:
		return "success"
	case core.AgentTimeout:
		return "timeout"
	}
	return "failure"
}

// A Totals is the number of agents and their total usage.
type Totals struct {
	Count   int        `json:"count"`
	Running int        `json:"running"`
	Usage   core.Usage `json:"usage"`
}

// SumOf adds agents up.
func SumOf(runs []Agent) (sum Totals) {
	for _, run := range runs {
		sum.Count++
		if !run.State.Ended() {
			sum.Running++
		}
		sum.Usage = sum.Usage.Add(run.Progress.Used())
	}
	return sum
}
