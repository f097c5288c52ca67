package record

import (
	"encoding/json"

	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/permission"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
)

// A Run is the record of one agent, from the moment it was asked for.
type Run struct {
	ID            string            `json:"subagent_id"`
	Tree          string            `json:"tree"`                  // session at the root of all that spawned it
	ParentSession string            `json:"parentSession"`         // session that asked for it
	ParentAgent   string            `json:"parentAgent,omitempty"` // agent that this session is of; empty for a user's own
	Session       string            `json:"session,omitempty"`     // its own in the host; empty until known
	Resumes       bool              `json:"resumes,omitempty"`     // Session is one that it goes on in
	Frame         string            `json:"frame"`
	Depth         int               `json:"depth"` // 1 for a child of a user's session
	Host          string            `json:"host"`
	Foreign       bool              `json:"foreign,omitempty"` // whoever asked for it lives in another host
	Type          string            `json:"agentType"`         // name of its definition
	Source        definition.Source `json:"definition"`        // where that stands
	Digest        string            `json:"definitionDigest"`  // of that, as it was when the agent was asked for
	Description   string            `json:"description"`
	Prompt        string            `json:"prompt"` // the task as it was asked, at most MaxPrompt characters of it
	Mode          permission.Choice `json:"permissionMode"`
	Tools         hosts.ToolSet     `json:"tools"`
	Trusted       []string          `json:"trusted,omitempty"`        // entries of Tools that a person wrote: what they name needs no other leave
	Passes        []string          `json:"delegateGrants,omitempty"` // tools that its children may have though it may not, as a person agreed
	Model         string            `json:"model,omitempty"`
	Limits        supervise.Limits  `json:"limits"`
	MaxDepth      int               `json:"maxDepth"`              // of agents below it, counted from the root
	MaxChildren   int               `json:"maxChildren,omitempty"` // 0: as many as the tree may have
	Children      int               `json:"children,omitempty"`    // that it started
	ResumedFrom   string            `json:"resumedFrom,omitempty"` // agent whose work it goes on with
	Call          string            `json:"callId,omitempty"`      // of the parent's host, that asked for it
	Key           string            `json:"idempotencyKey,omitempty"`
	Schema        json.RawMessage   `json:"resultSchema,omitempty"`
	Background    bool              `json:"background"` // who asks does not wait for its end, unless the call says so
	Checkout      string            `json:"checkout"`   // of the project, that it was asked for in
	Cwd           string            `json:"cwd"`
	Base          string            `json:"base,omitempty"`     // commit that it began from; empty outside of git
	Worktree      string            `json:"worktree,omitempty"` // of its own, where it has one
	SpentUSD      float64           `json:"spentUSD,omitempty"` // that Session had cost before, which hosts count in
	Warnings      []string          `json:"warnings,omitempty"`
	On            string            `json:"on,omitempty"`          // queue by which a worker on another machine runs it; empty: it runs on this one
	Retries       int               `json:"retries,omitempty"`     // how often another worker may begin it anew when one is lost
	Uncommitted   bool              `json:"uncommitted,omitempty"` // what was not committed went along
	Worker        string            `json:"worker,omitempty"`      // id of that machine, once one has begun
	Attempt       int               `json:"attempt,omitempty"`     // 1 for the first worker
	Lost          core.Usage        `json:"lost,omitzero"`         // what attempts used whose workers were lost
	Shared        []string          `json:"shared,omitempty"`      // what of it other machines may see
	Printed       int64             `json:"printed,omitempty"`     // bytes of its output that those printed
	For           string            `json:"for,omitempty"`         // id of the machine that asked for it, if this one is its worker
	Asked         string            `json:"asked,omitempty"`       // its id on that machine

	Charged core.Usage `json:"charged,omitzero"` // that its frames were charged with so far
	Apart   bool       `json:"apart,omitempty"`  // its host's own subagents have frames that they are counted in

	State       core.AgentState    `json:"state"`
	Progress    supervise.Progress `json:"progress,omitzero"`
	CancelledBy string             `json:"cancelledBy,omitempty"`    // who asked it to stop
	Outcome     *supervise.Outcome `json:"outcome,omitempty"`        // once final
	Changes     []changes.Change   `json:"changes,omitempty"`        // to files, by its own tools, once final
	Made        map[string]string  `json:"artifactHashes,omitempty"` // of artifacts that are files, as it left them
	CreatedAt   core.Millis        `json:"createdAt"`
	EndedAt     core.Millis        `json:"endedAt,omitempty"`
}

// A formerRun has the names that some fields of a Run had in records at first.
type formerRun struct {
	ParentSession string            `json:"parent_session_id"`
	Type          string            `json:"agent_type"`
	Digest        string            `json:"definition_digest"`
	Mode          permission.Choice `json:"permission_mode"`
	Passes        []string          `json:"delegate_grants"`
	Call          string            `json:"parent_tool_id"`
	Key           string            `json:"idempotency_key"`
	Schema        json.RawMessage   `json:"result_schema"`
	Made          map[string]string `json:"artifact_hashes"`
}

// UnmarshalJSON reads a record by the names that its fields have or had.
func (r *Run) UnmarshalJSON(raw []byte) error {
	type fields Run
	var read struct {
		*fields
		formerRun
	}
	read.fields = (*fields)(r)
	if err := json.Unmarshal(raw, &read); err != nil || read.formerRun.Type == "" {
		return err
	}
	f := read.formerRun
	r.ParentSession, r.Type, r.Digest, r.Mode, r.Passes = f.ParentSession, f.Type, f.Digest, f.Mode, f.Passes
	r.Call, r.Key, r.Schema, r.Made = f.Call, f.Key, f.Schema, f.Made
	return nil
}

// MaxPrompt bounds a task in the record, in characters. All of it is in the
// assignment.
const MaxPrompt = 20_000

// Elsewhere reports whether the agent runs on another machine.
func (r Run) Elsewhere() bool { return r.On != "" }

// Own returns the worktree that the agent has for itself.
func (r Run) Own() changes.Worktree { return changes.Worktree{Dir: r.Worktree, Base: r.Base} }

// OutcomeOf returns the word for how an agent in a state has ended (seed 004).
func OutcomeOf(state core.AgentState) string {
	switch state {
	case core.AgentCompleted:
		return "success"
	case core.AgentTimeout:
		return "timeout"
	}
	return "failure"
}

// A Sum is the number of agents and what they used together.
type Sum struct {
	Count   int        `json:"count"`
	Running int        `json:"running"`
	Usage   core.Usage `json:"usage"`
}

// SumOf adds agents up.
func SumOf(runs []Run) (sum Sum) {
	for _, run := range runs {
		sum.Count++
		if !run.State.Ended() {
			sum.Running++
		}
		sum.Usage = sum.Usage.Add(run.Progress.Used())
	}
	return sum
}
