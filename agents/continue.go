package agents

import (
	"context"
	"errors"
	"strings"

	"flame/agents/plan"
	"flame/agents/record"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/project"
	"flame/project/children"
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
	old, err := a.directed(ctx, by, id)
	if errors.Is(err, core.ErrNotFound) {
		return a.continueNative(ctx, by, id, prompt)
	}
	if err != nil {
		return record.Run{}, err
	}
	if !old.State.Ended() {
		return record.Run{}, core.Invalidf("%s is %s", old.ID, old.State).WithHint("wait for its end with %s, or cancel it first", op.AgentWait)
	}
	next, err := a.planner().Successor(ctx, old, prompt)
	if err != nil {
		return record.Run{}, err
	}
	under, err := children.OpenAbove(ctx, a.Project, old.Frame)
	if err != nil {
		return record.Run{}, err
	}
	var run record.Run
	var made children.Delegated
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if run, made, err = a.planner().Readmit(tx, by, old, next, under); err != nil {
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

// Interactive returns the command with which a person goes on in an agent's session,
// and the folder for it. id may be that of a session too, or of a frame.
func (a *Agents) Interactive(ctx context.Context, id string) (command []string, dir string, err error) {
	run, err := a.Find(ctx, id)
	session, host, dir := run.Session, run.Host, run.Cwd
	if errors.Is(err, core.ErrNotFound) {
		var native core.Session
		if native, _, err = nativeSession(ctx, a.Project.Store, id); err == nil {
			session, host, dir = native.ID, native.Host, a.Dir
		}
	}
	if err != nil {
		return nil, "", err
	}
	h, err := a.Hosts.Named(host)
	if err != nil {
		return nil, "", err
	}
	client := h.On(a.Machine)
	if !client.Resumes(session) {
		return nil, "", core.Invalidf("%s has no session of its own that could be opened", id).
			WithHint("give a prompt: another agent begins with its context then")
	}
	if err := run.Own().Restore(ctx, a.Dir, record.Patch(a.Data, run.ID)); err != nil {
		return nil, "", err
	}
	command, err = client.Talk(session)
	return command, dir, err
}

// nativeSession returns the session of a host's own subagent by its id or that of its
// frame, and what it was for.
func nativeSession(ctx context.Context, s project.Store, id string) (session core.Session, goal string, err error) {
	err = s.View(ctx, func(tx project.Tx) error {
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
	session, goal, err := nativeSession(ctx, a.Project.Store, id)
	if err != nil {
		return record.Run{}, err
	}
	host, err := a.Hosts.Named(session.Host)
	if err != nil {
		return record.Run{}, err
	}
	under, err := children.OpenAbove(ctx, a.Project, session.Root)
	if err != nil {
		return record.Run{}, err
	}
	r := plan.Request{Prompt: prompt, Frame: under}
	p, err := a.planner().Continued(by, host, core.SubagentType(session.Title), resumable(host.On(a.Machine), session.ID), goal, r)
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
