// Package record stores and finds the records of agents, of handoffs to them, of their results, and of
// agents of other machines, with the documents that machines exchange about them.
// It starts and ends no agents.
package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/project/usage"
)

// The kinds of records about agents.
const (
	Agents       project.RecordKind[Agent]       = "agent"          // by subagent_id
	ActiveAgents project.RecordKind[ActiveAgent] = "agent_live"     // by subagent_id; deleted once the end of the agent is fully handled
	Trees        project.RecordKind[Tree]        = "session.agents" // by the session at the root

	Assignments project.RecordKind[Assignment] = "assignment.task" // by subagent_id

	// PendingCancels stores why an agent elsewhere must stop if flame could not tell its worker, by
	// subagent_id.
	PendingCancels project.RecordKind[string] = "assignment.cancel"
)

// An Assignment is an agent's task with its context. It may be long, so it is not part of the
// agent's record.
type Assignment struct {
	Task    string          `json:"task"`              // as the caller wrote it
	Context string          `json:"context,omitempty"` // of its frame, at the time of the request
	Inline  json.RawMessage `json:"inline,omitempty"`  // its definition, if it was part of the call

	Definition *definition.Definition `json:"definition,omitempty"` // of an agent that another machine asked for
	Base       *changes.Base          `json:"base,omitempty"`       // the state from which an agent elsewhere begins, once Export has run
}

// A Tree counts the agents below one user's session.
type Tree struct {
	Total   int      `json:"total"`
	Live    []string `json:"live,omitempty"` // ids of agents that are not final
	Tokens  int64    `json:"tokens,omitempty"`
	CostUSD float64  `json:"costUSD,omitempty"`
}

// Folder returns the path of an agent's own folder in a project's data folder.
func Folder(data, id string) string { return filepath.Join(data, "agents", id) }

// Patch returns the path of the patch with an agent's changes in its own worktree.
func Patch(data, id string) string { return filepath.Join(Folder(data, id), changes.PatchFile) }

// An ActiveAgent is an agent that is not settled yet.
type ActiveAgent struct {
	Starter        supervise.Process `json:"starter,omitzero"`    // process that asked for it
	Supervisor     supervise.Process `json:"supervisor,omitzero"` // zero until it has started
	Worker         supervise.Process `json:"worker,omitzero"`     // worker that runs it for another machine and ends with it
	Again          int               `json:"again,omitempty"`     // how often flame restarted the follower of an agent elsewhere
	Since          core.Millis       `json:"since"`
	LastProgressAt core.Millis       `json:"told,omitempty"`   // time of the last event about its progress
	Seen           core.Millis       `json:"seen,omitempty"`   // last sign of life of the supervisor, which comes each SignPace
	Warned         bool              `json:"warned,omitempty"` // the event about the nearly used budget was written
}

// How long an agent may have no supervisor after the request, in ms: while the requesting
// process lives, and after that process was killed.
const (
	startPatience   = core.Millis(30_000)
	starterPatience = core.Millis(3_000)
)

// Watched reports whether an agent has a living supervisor, or may still get one.
func (l ActiveAgent) Watched(now core.Millis) bool {
	switch {
	case !l.Supervisor.IsVisible() || !l.Starter.IsVisible():
		patience := elsewherePatience
		if l.Seen == 0 {
			patience = oldPatience
		}
		return now-max(l.Since, l.LastProgressAt, l.Seen) < patience
	case l.Supervisor.PID != 0:
		return l.Supervisor.Alive()
	case l.Starter == supervise.Self() || l.Starter.Alive():
		return now-l.Since < startPatience
	}
	return now-l.Since < starterPatience
}

// How long flame leaves an agent alone that another container started and that gives no sign of
// life, in ms: this container cannot see whether its supervisor lives. Supervisors of versions
// before Seen give no signs.
const (
	SignPace          = core.Millis(60_000)
	elsewherePatience = 10 * SignPace
	oldPatience       = core.Millis(6 * 3_600_000)
)

// Change applies f to an agent's record in one transaction. It does not call f for a final
// record.
func Change(ctx context.Context, s project.Store, id string, f func(tx project.Tx, run *Agent) error) (run Agent, err error) {
	err = s.Update(ctx, func(tx project.Tx) error {
		if run, err = Find(tx, id); err != nil || run.State.Ended() {
			return err
		}
		if err := f(tx, &run); err != nil {
			return err
		}
		return Agents.Save(tx, run.ID, run)
	})
	return run, err
}

// Create writes the records of a new agent. From then on the agent counts in its tree.
func Create(tx project.Tx, run Agent) error {
	t, err := Trees.Find(tx, run.Tree)
	if err != nil {
		return err
	}
	t.Total++
	t.Live = append(t.Live, run.ID)
	live := ActiveAgent{Starter: supervise.Self(), Since: run.CreatedAt}
	if run.Requester != "" {
		live.Worker = live.Starter
	}
	return errors.Join(Trees.Save(tx, run.Tree, t), Agents.Save(tx, run.ID, run), ActiveAgents.Save(tx, run.ID, live))
}

// RemoveFromTree removes an ended agent from the running agents of its tree.
func RemoveFromTree(tx project.Tx, run Agent) error {
	t, err := Trees.Find(tx, run.Tree)
	if err != nil {
		return err
	}
	t.Live = slices.DeleteFunc(t.Live, func(live string) bool { return live == run.ID })
	return Trees.Save(tx, run.Tree, t)
}

// ChargeUsage adds the usage of an agent since its last report to its tree and to its frames. The
// usage of its host's own subagents counts for its frame until flame knows these subagents.
// Then they have their own frames, and ChargeUsage subtracts their usage from the agent's frame.
func ChargeUsage(s *project.Op, run *Agent, p supervise.Progress) error {
	t, err := Trees.Find(s.Tx, run.Tree)
	if err != nil {
		return err
	}
	t.Tokens += p.Tokens() - run.Progress.Tokens()
	t.CostUSD += p.Cost() - run.Progress.Cost()
	if run.IsRemote() { // its worker's machine charges the frames
		return errors.Join(Trees.Save(s.Tx, run.Tree, t), usage.AddSpent(s, run.ParentSession, p.Used().Minus(run.Progress.Used())))
	}
	session := cmp.Or(run.Session, p.Session)
	if !run.SubagentsSeparate && session != "" {
		own, err := s.Tx.FindSessions(project.SessionQuery{Tracked: true, Parent: session, Limit: 1})
		if err != nil {
			return err
		}
		run.SubagentsSeparate = len(own) > 0
	}
	if run.Charged == (core.Usage{}) { // nothing was charged, or an older version of flame did not record it
		run.Charged = run.Progress.Used()
	}
	charged := p.Used()
	if run.SubagentsSeparate {
		charged = p.Usage
	}
	used := charged.Minus(run.Charged)
	run.Charged = charged
	return errors.Join(
		Trees.Save(s.Tx, run.Tree, t), usage.AddSpent(s, run.ParentSession, used),
		usage.AddSupervised(s, session, run.Frame, used, p.Turns-run.Progress.Turns),
	)
}

// Emit appends an event of an agent.
func Emit(tx project.Tx, now core.Millis, run Agent, kind string, data map[string]any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = tx.AppendEvent(core.Event{
		V: core.EventVersion, TS: now, Event: kind, Session: run.Session, ParentSession: run.ParentSession,
		Frame: run.Frame, SubagentID: run.ID, Depth: run.Depth, Host: run.Host, Data: raw,
	})
	return err
}

// Machine returns the name of this machine, for logs of several machines put together.
func Machine() string {
	name, err := os.Hostname()
	if err != nil {
		return "" // events may lack it
	}
	return name
}
