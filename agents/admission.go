package agents

import (
	"context"
	"errors"

	"flame/agents/changes"
	"flame/agents/permission"
	"flame/agents/record"
	"flame/core"
	"flame/project"
)

// admit lets the agent of a plan in where the tree's bounds allow it: its frame is
// made, its record, and what it is to be told.
func (a *Agents) admit(tx project.Tx, p Plan) (run record.Run, made project.Delegated, err error) {
	bare, most := p.context()
	made, err = a.Project.Delegate(tx, p.by, project.Delegation{
		Agent: p.Agent.ID, Under: p.request.Frame, Goal: p.Agent.Description, Session: p.Agent.Session, Host: p.Agent.Host,
		Title: core.SubagentTitle(p.Agent.Description, p.def.Name), Bare: bare, MaxChars: most,
	})
	if err != nil {
		return run, made, err
	}
	s, err := a.situation(tx, p, made.Caller, made.Frame.ID)
	if err != nil {
		return run, made, err
	}
	if run, err = p.decide(s, a.Bounds); err != nil {
		return run, made, err
	}
	run.Frame, run.ParentSession, run.CreatedAt = made.Frame.ID, made.Caller.ID, s.now
	if parent := s.asks.agent; parent.ID != "" {
		parent.Children++
		if err := record.Runs.Save(tx, parent.ID, parent); err != nil {
			return run, made, err
		}
	}
	told := record.Assignment{Task: p.request.Prompt, Context: made.Context, Inline: p.request.Inline}
	return run, made, errors.Join(a.enrol(tx, run), record.Assignments.Save(tx, run.ID, told))
}

// context says how much of its frame's context an agent is given: whether none, and
// how many characters at most. Goals come first in a context that is cut.
func (p Plan) context() (bare bool, most int) {
	switch p.def.Context {
	case "none":
		return true, 0
	case "goal":
		most = 1_500
	case "frame":
		most = 4_000
	}
	return p.request.Bare, most
}

// enrol writes a new agent's record, and the events that tell of it before
// anything runs.
func (a *Agents) enrol(tx project.Tx, run record.Run) error {
	if run.Mode.Grant != "" {
		if err := permission.Spend(tx, run.Mode.Grant); err != nil {
			return err
		}
	}
	return errors.Join(record.Enrol(tx, run),
		a.tell(tx, run, core.PermissionDecision, map[string]any{
			"permission_mode": run.Mode, "tools": run.Tools, "agent_type": run.Type, "warnings": append([]string{}, run.Warnings...),
		}),
		a.tell(tx, run, core.SubagentSpawned, map[string]any{
			"agent_type": run.Type, "description": run.Description, "prompt": core.Cut(run.Prompt, changes.MaxExcerpt),
			"parent_agent": run.ParentAgent, "parent_session_id": run.ParentSession, "parent_tool_id": run.Call, "frame": run.Frame,
			"permission_mode": run.Mode.Effective, "model": run.Model, "limits": run.Limits, "machine": machine(),
		}),
		a.tell(tx, run, core.TranscriptEvent, map[string]any{"event_type": core.EventSubagentStart, "task_description": run.Description}))
}

// byKey returns the agent that a caller started under an idempotency key; zero
// without one. It spares a repeated call what a new agent must pass; what two calls
// at one time must not both pass is in Begin.
func (a *Agents) byKey(ctx context.Context, by project.Caller, key string) (run record.Run, err error) {
	if key == "" {
		return run, nil
	}
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err = keyedBy(tx, by, key)
		return err
	})
	return run, err
}

func keyedBy(tx project.Tx, by project.Caller, key string) (run record.Run, err error) {
	if key == "" {
		return run, nil
	}
	session, err := project.SessionOf(tx, by)
	if err != nil {
		return run, err
	}
	return record.ByKey(tx, session, key)
}
