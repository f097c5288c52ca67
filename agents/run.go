package agents

import (
	"context"
	"encoding/json"
	"strings"

	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/supervise"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/project"
)

// The kinds of records that agents are kept in.
const (
	recordRun     project.Kind[Run]    = "agent"         // by subagent_id
	recordLive    project.Kind[live]   = "agent_live"    // by subagent_id; gone once all about its end is done
	recordTree    project.Kind[tree]   = "agent_tree"    // by the session at the root
	recordSession project.Kind[string] = "agent_session" // a subagent_id, by its session
	recordKey     project.Kind[string] = "agent_key"     // a subagent_id, by parent session and idempotency key
	recordGrant   project.Kind[Grant]  = "agent_grant"   // by id

	recordAssignment project.Kind[assignment] = "agent_assignment" // by subagent_id
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
	Prompt        string            `json:"prompt"` // the task as it was asked, at most maxKept characters of it
	Mode          ModeChoice        `json:"permissionMode"`
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
	Mode          ModeChoice        `json:"permission_mode"`
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

// maxKept bounds a task in the record, in characters. All of it is in the
// assignment.
const maxKept = 20_000

// A live is an agent that something is still to be done about.
type live struct {
	Starter    supervise.Process `json:"starter,omitzero"`    // who asked for it
	Supervisor supervise.Process `json:"supervisor,omitzero"` // zero until it was started
	Since      core.Millis       `json:"since"`
	Told       core.Millis       `json:"told,omitempty"`   // last event about its progress
	Warned     bool              `json:"warned,omitempty"` // that its budget is nearly used
}

// A tree is what was spawned below one user's session.
type tree struct {
	Total   int      `json:"total"`
	Live    []string `json:"live,omitempty"` // ids of agents that are not final
	Tokens  int64    `json:"tokens,omitempty"`
	CostUSD float64  `json:"costUSD,omitempty"`
}

// ends says what the state of an agent means for its frame.
var ends = map[core.AgentState]core.ChildEnd{
	core.AgentCompleted: core.ChildCompleted,
	core.AgentTimeout:   core.ChildTimedOut,
	core.AgentCancelled: core.ChildCancelled,
	core.AgentOrphaned:  core.ChildOrphaned,
	core.AgentError:     core.ChildFailed,
}

// result is the seed's word for how an agent ended.
func result(state core.AgentState) string {
	switch state {
	case core.AgentCompleted:
		return "success"
	case core.AgentTimeout:
		return "timeout"
	}
	return "failure"
}

// Find returns the record of an agent; a prefix of its id will do where only one has
// it.
func (a *Agents) Find(ctx context.Context, id string) (run Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err = find(tx, id)
		return err
	})
	return run, err
}

func find(tx project.Tx, id string) (run Run, err error) {
	id = strings.TrimSpace(id)
	if known, err := recordRun.Load(tx, id, &run); known || err != nil {
		return run, err
	}
	var like []string
	for _, prefix := range []string{id, "agent-" + id} {
		if ids, err := recordRun.IDs(tx, prefix); err != nil {
			return run, err
		} else if id != "" {
			like = join(like, ids)
		}
	}
	switch len(like) {
	case 1:
		_, err = recordRun.Load(tx, like[0], &run)
		return run, err
	case 0:
		return run, core.NotFoundf("there is no agent %q", id).WithHint("%s shows those there are", op.AgentList)
	}
	return run, core.Invalidf("%q could be %s", id, strings.Join(like, ", ")).WithHint("give the whole id")
}

// agentOf returns the agent that a caller is; zero for a user's own session.
func agentOf(tx project.Tx, by project.Caller, session string) (run Run, err error) {
	id := by.Agent // what the process says goes before the call: a model can write that
	if id == "" {
		if _, err = recordSession.Load(tx, session, &id); err != nil || id == "" {
			return run, err
		}
	}
	_, err = recordRun.Load(tx, id, &run)
	return run, err
}

// change applies f to an agent's record in one transaction. A final record stays
// as it is: f is not called then.
func (a *Agents) change(ctx context.Context, id string, f func(tx project.Tx, run *Run) error) (run Run, err error) {
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if run, err = find(tx, id); err != nil || run.State.Ended() {
			return err
		}
		if err := f(tx, &run); err != nil {
			return err
		}
		return recordRun.Save(tx, run.ID, run)
	})
	return run, err
}

// tell appends an event of an agent.
func (a *Agents) tell(tx project.Tx, run Run, kind string, data map[string]any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = tx.AppendEvent(core.Event{
		V: core.EventVersion, TS: a.Project.Now(), Event: kind, Session: run.Session, ParentSession: run.ParentSession,
		Frame: run.Frame, SubagentID: run.ID, Depth: run.Depth, Host: run.Host, Data: raw,
	})
	return err
}
