package plan

import (
	"context"
	"errors"
	"strings"

	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
)

// Admit admits the agent of a plan if the tree's bounds allow it: it writes the agent's frame,
// record and assignment. If the same key has an agent already, Admit returns that agent.
func (p Plan) Admit(tx project.Tx) (run record.Agent, made children.DelegateResult, err error) {
	if run, err = keyedBy(tx, p.by, p.request.Key); err != nil || run.ID != "" {
		return run, made, err
	}
	bare, most := p.context()
	made, err = children.Delegate(p.Project, tx, p.by, children.DelegateArgs{
		Agent: p.Agent.ID, Under: p.request.Frame, Goal: p.Agent.Description, Session: p.Agent.Session, Host: p.Agent.Host,
		Title: core.SubagentTitle(p.Agent.Description, p.def.Name), Bare: bare, MaxChars: most,
		Attempt: briefing.TaskIdentity{Task: likeness(p.request.Prompt), Name: likeness(p.request.Description)},
	})
	if err != nil {
		return run, made, err
	}
	s, err := p.stateOf(tx, made.Caller, made.Frame.ID)
	if err != nil {
		return run, made, err
	}
	if run, err = p.decide(s); err != nil {
		return run, made, err
	}
	run.Frame, run.ParentSession, run.CreatedAt = made.Frame.ID, made.Caller.ID, s.now
	if parent := s.asks.agent; parent.ID != "" {
		parent.Children++
		if err := record.Agents.Save(tx, parent.ID, parent); err != nil {
			return run, made, err
		}
	}
	told := record.Assignment{Task: p.request.Prompt, Context: made.Context, Inline: p.request.Inline}
	return run, made, errors.Join(p.enrol(tx, run), record.Assignments.Save(tx, run.ID, told))
}

// enrol writes a new agent's record, and its first events, before anything runs.
func (pl Planner) enrol(tx project.Tx, run record.Agent) error {
	now := pl.Project.Now()
	if run.Mode.Grant != "" {
		if err := spendGrant(tx, run.Mode.Grant); err != nil {
			return err
		}
	}
	return errors.Join(record.Create(tx, run),
		record.Emit(tx, now, run, core.PermissionDecision, map[string]any{
			"permission_mode": run.Mode, "tools": run.Tools, "agent_type": run.Type, "warnings": append([]string{}, run.Warnings...),
		}),
		record.Emit(tx, now, run, core.SubagentSpawned, map[string]any{
			"agent_type": run.Type, "description": run.Description, "prompt": core.Cut(run.Prompt, changes.MaxExcerpt),
			"parent_agent": run.ParentAgent, "parent_session_id": run.ParentSession, "parent_tool_id": run.Call, "frame": run.Frame,
			"permission_mode": run.Mode.Effective, "model": run.Model, "limits": run.Limits, "machine": record.Machine(),
		}),
		record.Emit(tx, now, run, core.TranscriptEvent, map[string]any{"event_type": core.EventSubagentStart, "task_description": run.Description}))
}

// keyedBy returns the agent that a caller started under an idempotency key; zero if there is
// none.
func keyedBy(tx project.Tx, by project.Caller, key string) (run record.Agent, err error) {
	if key == "" {
		return run, nil
	}
	session, err := project.SessionOf(tx, by)
	if err != nil {
		return run, err
	}
	return record.ByKey(tx, session, key)
}

// Successor returns the record of an agent that continues the work of another.
func (pl Planner) Successor(ctx context.Context, old record.Agent, prompt string) (record.Agent, error) {
	told, err := record.AssignmentOf(ctx, pl.Project, old.ID)
	if err != nil {
		return record.Agent{}, err
	}
	if _, err := pl.DefinitionOf(old, told); err != nil {
		return record.Agent{}, err
	}
	host, err := pl.Hosts.Named(old.Host)
	if err != nil {
		return record.Agent{}, err
	}
	next := old
	next.ID, next.ResumedFrom, next.Prompt = pl.Project.NewID("agent"), old.ID, core.Cut(prompt, record.MaxPrompt)
	next.State, next.Outcome, next.Changes, next.ArtifactHashes, next.CancelledBy, next.Children = core.AgentInitializing, nil, nil, nil, "", 0
	next.Progress, next.EndedAt, next.CreatedAt, next.Key = supervise.Progress{}, 0, pl.Project.Now(), ""
	next.Resumes, next.SpentUSD, next.Spent = old.Progress.Session != "", old.Progress.SessionUSD, old.Progress.SessionUsage
	if !next.Resumes {
		next.Session, next.SpentUSD, next.Spent = host.SessionID(), 0, core.Usage{}
	}
	return next, nil
}

// Readmit is Admit for an agent that continues: it keeps its mode and tools, if the caller
// could still give it that mode.
func (pl Planner) Readmit(tx project.Tx, by project.Caller, old, next record.Agent, under string) (record.Agent, children.DelegateResult, error) {
	attempt, known, err := briefing.Attempts.Get(tx, old.Frame)
	if err != nil {
		return next, children.DelegateResult{}, err
	}
	if known {
		attempt.After = old.Frame
	}
	made, err := children.Delegate(pl.Project, tx, by, children.DelegateArgs{
		Agent: next.ID, Under: under, Goal: strings.TrimSuffix(old.Description, continued) + continued, Session: next.Session, Host: next.Host,
		Title: core.SubagentTitle(old.Description, old.Type), Bare: next.Resumes, Attempt: attempt,
	})
	if err != nil {
		return next, made, err
	}
	next.Frame, next.ParentSession = made.Frame.ID, made.Caller.ID
	if err := pl.stillAllowed(tx, by, old, made.Caller); err != nil {
		return next, made, err
	}
	t, err := record.Trees.Find(tx, next.Tree)
	if err != nil {
		return next, made, err
	}
	next.MaxDepth = min(pl.Bounds.Depth, old.MaxDepth)
	if err := pl.Bounds.refuse(next, record.Agent{}, t); err != nil {
		return next, made, err
	}
	return next, made, pl.enrol(tx, next)
}

// continued is the end of the goal of a frame that continues an agent's work.
const continued = " (continued)"

// stillAllowed refuses to continue an agent in a mode that neither its grant nor the caller
// would give it now. A person at a shell may continue any agent.
func (pl Planner) stillAllowed(tx project.Tx, by project.Caller, old record.Agent, caller core.Session) error {
	if old.Mode.Grant != "" {
		g, known, err := Grants.Get(tx, old.Mode.Grant)
		if err == nil && (!known || g.ExpiresAt > 0 && g.ExpiresAt <= pl.Project.Now()) {
			err = core.Invalidf("%s worked in the mode %s by %s, which no longer holds", old.ID, old.Mode.Effective, old.Mode.Grant).
				WithHint("grant it again, or start another agent")
		}
		return err
	}
	if by.Session == "" && by.Agent == "" && by.Trust != project.TrustInHost {
		return nil
	}
	asks, err := pl.limitsOf(tx, by, caller)
	if err == nil && old.Mode.Effective.Exceeds(asks.mode) {
		err = core.Invalidf("%s worked in the mode %s, which is more than this session has now", old.ID, old.Mode.Effective).
			WithHint("start another agent with %s, or let the user change the mode", op.Spawn)
	}
	return err
}
