package plan

import (
	"context"
	"errors"

	"flame/agents/changes"
	"flame/agents/permission"
	"flame/agents/record"
	"flame/core"
	"flame/project"
	"flame/project/children"
)

// Admit lets the agent of a plan in where the tree's bounds allow it: its frame is
// made, its record, and what it is to be told. It returns one that came first under the
// same key.
func (pl Planner) Admit(tx project.Tx, p Plan) (run record.Run, made children.Delegated, err error) {
	if run, err = keyedBy(tx, p.by, p.request.Key); err != nil || run.ID != "" {
		return run, made, err
	}
	bare, most := p.context()
	made, err = children.Delegate(pl.Project, tx, p.by, children.Delegation{
		Agent: p.Agent.ID, Under: p.request.Frame, Goal: p.Agent.Description, Session: p.Agent.Session, Host: p.Agent.Host,
		Title: core.SubagentTitle(p.Agent.Description, p.def.Name), Bare: bare, MaxChars: most,
		Attempt: p.request.attempt(),
	})
	if err != nil {
		return run, made, err
	}
	s, err := pl.situation(tx, p, made.Caller, made.Frame.ID)
	if err != nil {
		return run, made, err
	}
	if run, err = p.decide(s, pl.Bounds); err != nil {
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
	return run, made, errors.Join(pl.enrol(tx, run), record.Assignments.Save(tx, run.ID, told))
}

// enrol writes a new agent's record, and the events that tell of it before
// anything runs.
func (pl Planner) enrol(tx project.Tx, run record.Run) error {
	now := pl.Project.Now()
	if run.Mode.Grant != "" {
		if err := permission.Spend(tx, run.Mode.Grant); err != nil {
			return err
		}
	}
	return errors.Join(record.Enrol(tx, run),
		record.Tell(tx, now, run, core.PermissionDecision, map[string]any{
			"permission_mode": run.Mode, "tools": run.Tools, "agent_type": run.Type, "warnings": append([]string{}, run.Warnings...),
		}),
		record.Tell(tx, now, run, core.SubagentSpawned, map[string]any{
			"agent_type": run.Type, "description": run.Description, "prompt": core.Cut(run.Prompt, changes.MaxExcerpt),
			"parent_agent": run.ParentAgent, "parent_session_id": run.ParentSession, "parent_tool_id": run.Call, "frame": run.Frame,
			"permission_mode": run.Mode.Effective, "model": run.Model, "limits": run.Limits, "machine": record.Machine(),
		}),
		record.Tell(tx, now, run, core.TranscriptEvent, map[string]any{"event_type": core.EventSubagentStart, "task_description": run.Description}))
}

// byKey returns the agent that a caller started under an idempotency key; zero
// without one. It spares a repeated call what a new agent must pass; what two calls
// at one time must not both pass is in Admit.
func (pl Planner) byKey(ctx context.Context, by project.Caller, key string) (run record.Run, err error) {
	if key == "" {
		return run, nil
	}
	err = pl.Project.Store.View(ctx, func(tx project.Tx) error {
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
