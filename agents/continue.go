package agents

import (
	"context"
	"errors"
	"strings"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/project"
)

// Continue has an agent that is over go on with another prompt: in its own session,
// or where that is not known in a new one, with the context of its frame. It is
// another agent, with a frame of its own beside the first one's.
func (a *Agents) Continue(ctx context.Context, by project.Caller, id, prompt string) (record.Run, error) {
	return a.resume(ctx, by, id, prompt, func(project.Tx, record.Run) error { return nil })
}

// resume is Continue with what must be kept along with the new agent.
func (a *Agents) resume(ctx context.Context, by project.Caller, id, prompt string, also func(project.Tx, record.Run) error) (record.Run, error) {
	if strings.TrimSpace(prompt) == "" {
		return record.Run{}, core.Invalidf("there is no prompt").WithHint("say what the agent is to do next")
	}
	old, err := a.Find(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return a.continueNative(ctx, by, id, prompt)
	}
	if err != nil {
		return record.Run{}, err
	}
	if err := a.mayDirect(ctx, by, old); err != nil {
		return record.Run{}, err
	}
	if !old.State.Ended() {
		return record.Run{}, core.Invalidf("%s is %s", old.ID, old.State).WithHint("wait for its end with %s, or cancel it first", op.AgentWait)
	}
	next, err := a.successor(ctx, old, prompt)
	if err != nil {
		return record.Run{}, err
	}
	under, err := a.Project.OpenAbove(ctx, old.Frame)
	if err != nil {
		return record.Run{}, err
	}
	var run record.Run
	var made project.Delegated
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if run, made, err = a.readmit(tx, by, old, next, under); err != nil {
			return err
		}
		var told record.Assignment
		if _, err := record.Assignments.Load(tx, old.ID, &told); err != nil {
			return err
		}
		told.Task, told.Context = prompt, made.Context
		return errors.Join(record.Assignments.Save(tx, run.ID, told), also(tx, run))
	})
	if err != nil {
		return record.Run{}, err
	}
	made.Log()
	return a.start(ctx, run)
}

// successor is the record of an agent that goes on with what another did.
func (a *Agents) successor(ctx context.Context, old record.Run, prompt string) (record.Run, error) {
	told, err := a.assignmentOf(ctx, old.ID)
	if err != nil {
		return record.Run{}, err
	}
	if _, err := a.definitionOf(old, told); err != nil {
		return record.Run{}, err
	}
	host, err := a.hostNamed(old.Host)
	if err != nil {
		return record.Run{}, err
	}
	next := old
	next.ID, next.ResumedFrom, next.Prompt = a.Project.NewID("agent"), old.ID, core.Cut(prompt, record.MaxPrompt)
	next.State, next.Outcome, next.Changes, next.Made, next.CancelledBy, next.Children = core.AgentInitializing, nil, nil, nil, "", 0
	next.Progress, next.EndedAt, next.CreatedAt, next.Key = supervise.Progress{}, 0, a.Project.Now(), ""
	next.Resumes, next.SpentUSD = old.Progress.Session != "", old.Progress.SessionUSD
	if !next.Resumes {
		next.Session, next.SpentUSD = host.On(a.Machine).NewSession(), 0
	}
	return next, nil
}

// readmit is admit for an agent that goes on: its mode and tools stay what they were,
// where whoever asks could still give it that mode.
func (a *Agents) readmit(tx project.Tx, by project.Caller, old, next record.Run, under string) (record.Run, project.Delegated, error) {
	made, err := a.Project.Delegate(tx, by, project.Delegation{
		Agent: next.ID, Under: under, Goal: strings.TrimSuffix(old.Description, continued) + continued, Session: next.Session, Host: next.Host,
		Title: core.SubagentTitle(old.Description, old.Type), Bare: next.Resumes,
	})
	if err != nil {
		return next, made, err
	}
	next.Frame, next.ParentSession = made.Frame.ID, made.Caller.ID
	if err := a.stillAllowed(tx, by, old, made.Caller); err != nil {
		return next, made, err
	}
	var t record.Tree
	if _, err := record.Trees.Load(tx, next.Tree, &t); err != nil {
		return next, made, err
	}
	next.MaxDepth = min(a.Bounds.Depth, old.MaxDepth)
	if err := a.Bounds.refuse(next, record.Run{}, t); err != nil {
		return next, made, err
	}
	return next, made, a.enrol(tx, next)
}

// continued is what the goal of an agent's next frame ends in.
const continued = " (continued)"

// stillAllowed refuses to go on with an agent in a mode that its grant, or the one who
// asks, would not give it now. A person at a shell goes on with what there is.
func (a *Agents) stillAllowed(tx project.Tx, by project.Caller, old record.Run, caller core.Session) error {
	if err := old.Mode.StillHolds(tx, old.ID, a.Project.Now()); err != nil || old.Mode.Grant != "" || by.Session == "" && by.Agent == "" && by.Trust != project.InHost {
		return err
	}
	asks, err := a.askerOf(tx, by, caller, func() definition.Catalog { return a.Catalog(a.Dir) })
	if err == nil && old.Mode.Effective.Exceeds(asks.mode) {
		err = core.Invalidf("%s worked in the mode %s, which is more than this session has now", old.ID, old.Mode.Effective).
			WithHint("start another agent with %s, or let the user change the mode", op.Spawn)
	}
	return err
}

// Interactive returns the command with which a person goes on in an agent's session,
// and the folder for it. id may be that of a session too, or of a frame.
func (a *Agents) Interactive(ctx context.Context, id string) (command []string, dir string, err error) {
	run, err := a.Find(ctx, id)
	session, host, dir := run.Session, run.Host, run.Cwd
	if errors.Is(err, core.ErrNotFound) {
		var native core.Session
		if native, _, err = a.native(ctx, id); err == nil {
			session, host, dir = native.ID, native.Host, a.Dir
		}
	}
	if err != nil {
		return nil, "", err
	}
	h, err := a.hostNamed(host)
	if err != nil {
		return nil, "", err
	}
	client := h.On(a.Machine)
	if !client.Resumes(session) {
		return nil, "", core.Invalidf("%s has no session of its own that could be opened", id).
			WithHint("give a prompt: another agent begins with its context then")
	}
	if err := a.restoreWorktree(ctx, run, run.ID); err != nil {
		return nil, "", err
	}
	command, err = client.Talk(session)
	return command, dir, err
}

// native returns the session of a host's own subagent by its id or that of its
// frame, and what it was for.
func (a *Agents) native(ctx context.Context, id string) (session core.Session, goal string, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		if frame, err := tx.Frame(id); err == nil && frame.Session != "" {
			id = frame.Session
		}
		if session, err = tx.Session(id); errors.Is(err, core.ErrNotFound) {
			return core.NotFoundf("there is no agent, frame or session %q", id).WithHint("`flame agents runs` and `flame tree` show those there are")
		}
		if err != nil {
			return err
		}
		frame, err := tx.Frame(session.Root)
		if goal = frame.Goal; errors.Is(err, core.ErrNotFound) {
			goal, err = session.Title, nil
		}
		return err
	})
	return session, goal, err
}

// continueNative has what a host's own subagent did go on as an agent: in its
// session where the host can do that, else in a new one with the context of its
// frame.
func (a *Agents) continueNative(ctx context.Context, by project.Caller, id, prompt string) (record.Run, error) {
	session, goal, err := a.native(ctx, id)
	if err != nil {
		return record.Run{}, err
	}
	host, err := a.hostNamed(session.Host)
	if err != nil {
		return record.Run{}, err
	}
	under, err := a.Project.OpenAbove(ctx, session.Root)
	if err != nil {
		return record.Run{}, err
	}
	p, err := a.drafted(Plan{
		by: by, catalog: func() definition.Catalog { return a.Catalog(a.Dir) },
		Definition: definition.Definition{Name: "continued", Host: host.Name, Source: definition.Source{Kind: definition.Call}},
		request: Request{
			Prompt: prompt, Description: strings.TrimSuffix(core.OneLine(goal, 45), continued) + continued, Frame: under,
			session: resumable(host.On(a.Machine), session.ID),
		},
	})
	if err != nil {
		return record.Run{}, err
	}
	return a.Begin(ctx, p)
}

func resumable(client hosts.Client, session string) string {
	if client.Resumes(session) {
		return session
	}
	return ""
}
