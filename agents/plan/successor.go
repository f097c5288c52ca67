package plan

import (
	"context"
	"strings"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
)

// Successor returns the record of an agent that goes on with what another did.
func (pl Planner) Successor(ctx context.Context, old record.Run, prompt string) (record.Run, error) {
	told, err := record.AssignmentOf(ctx, pl.Project.Store, old.ID)
	if err != nil {
		return record.Run{}, err
	}
	if _, err := pl.DefinitionOf(old, told); err != nil {
		return record.Run{}, err
	}
	host, err := pl.Hosts.Named(old.Host)
	if err != nil {
		return record.Run{}, err
	}
	next := old
	next.ID, next.ResumedFrom, next.Prompt = pl.Project.NewID("agent"), old.ID, core.Cut(prompt, record.MaxPrompt)
	next.State, next.Outcome, next.Changes, next.Made, next.CancelledBy, next.Children = core.AgentInitializing, nil, nil, nil, "", 0
	next.Progress, next.EndedAt, next.CreatedAt, next.Key = supervise.Progress{}, 0, pl.Project.Now(), ""
	next.Resumes, next.SpentUSD = old.Progress.Session != "", old.Progress.SessionUSD
	if !next.Resumes {
		next.Session, next.SpentUSD = host.On(pl.Machine).NewSession(), 0
	}
	return next, nil
}

// Readmit is Admit for an agent that goes on: its mode and tools stay what they were,
// where whoever asks could still give it that mode.
func (pl Planner) Readmit(tx project.Tx, by project.Caller, old, next record.Run, under string) (record.Run, children.Delegated, error) {
	var attempt briefing.Attempt
	known, err := briefing.Attempts.Load(tx, old.Frame, &attempt)
	if err != nil {
		return next, children.Delegated{}, err
	}
	if known {
		attempt.After = old.Frame
	}
	made, err := children.Delegate(pl.Project, tx, by, children.Delegation{
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
	var t record.Tree
	if _, err := record.Trees.Load(tx, next.Tree, &t); err != nil {
		return next, made, err
	}
	next.MaxDepth = min(pl.Bounds.Depth, old.MaxDepth)
	if err := pl.Bounds.refuse(next, record.Run{}, t); err != nil {
		return next, made, err
	}
	return next, made, pl.enrol(tx, next)
}

// continued is what the goal of an agent's next frame ends in.
const continued = " (continued)"

// stillAllowed refuses to go on with an agent in a mode that its grant, or the one who
// asks, would not give it now. A person at a shell goes on with what there is.
func (pl Planner) stillAllowed(tx project.Tx, by project.Caller, old record.Run, caller core.Session) error {
	atShell := by.Session == "" && by.Agent == "" && by.Trust != project.InHost
	if err := old.Mode.StillHolds(tx, old.ID, pl.Project.Now()); err != nil || old.Mode.Grant != "" || atShell {
		return err
	}
	asks, err := pl.askerOf(tx, by, caller, func() definition.Catalog { return pl.Catalog(pl.Dir) })
	if err == nil && old.Mode.Effective.Exceeds(asks.mode) {
		err = core.Invalidf("%s worked in the mode %s, which is more than this session has now", old.ID, old.Mode.Effective).
			WithHint("start another agent with %s, or let the user change the mode", op.Spawn)
	}
	return err
}
