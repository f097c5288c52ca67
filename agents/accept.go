package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/stack"
)

// WorkerPolicy say what a worker allows agents of other machines to do, and where.
type WorkerPolicy struct {
	Asker   string     // id of the machine that asks
	Attempt int        // number of this worker, 1 for the first; it may continue in the frame of a lost worker
	Most    hosts.Mode // the widest mode for agents

	// Prepare makes the working folder of an agent, below the agent's own folder.
	Prepare func(ctx context.Context, folder string) (Workspace, error)
}

// A Workspace is the working place of an agent that another machine asked for.
type Workspace struct {
	Dir      string // its working folder
	Worktree string // worktree that contains Dir; empty if there is none
	Base     string // first commit of the worktree
}

// frameTime bounds the wait for the frame of an agent that another machine asked for. Frame
// and work both come through the hub, and the frame may arrive later.
const frameTime = 10 * time.Second

// AcceptRemote starts an agent that another machine asked for. If this machine knows the frame, it
// takes the frame over: a frame belongs to the machine whose session works in it. If ctx ends
// before the start, nothing of the agent remains.
func AcceptRemote(ctx context.Context, a *Agents, w record.Task, t WorkerPolicy) (record.Agent, error) {
	host, err := a.Hosts.Named(w.Host)
	if err != nil {
		return record.Agent{}, err
	}
	if !host.Installed(a.Machine) {
		return record.Agent{}, core.NotFoundf("%s is not installed on the worker's machine", w.Host).
			WithHint("install it there, or ask a queue whose workers have it")
	}
	g := remoteAgent{a, w, t}
	run, err := g.enrol(ctx, host)
	if err != nil {
		return run, errors.Join(err, os.RemoveAll(a.Folder(run.ID))) // a mirror forgets a deleted worktree
	}
	ctx = context.WithoutCancel(ctx)
	if err := launch(ctx, a, a.planner(), run); err != nil {
		return run, errors.Join(err, a.unstarted(ctx, run.ID, err))
	}
	return run, nil
}

// IsForRemote reports whether another machine asked for an agent of this machine. It returns false
// if the agent's record is gone.
func IsForRemote(ctx context.Context, p *project.Project, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	return project.Read(ctx, p, func(tx project.Tx) (bool, error) {
		run, err := record.Agents.Find(tx, id)
		return run.Requester != "", err
	})
}

type remoteAgent struct {
	a     *Agents
	work  record.Task
	terms WorkerPolicy
}

// enrol makes the agent's folder, takes over its frame and stores its record.
func (g remoteAgent) enrol(ctx context.Context, host hosts.Host) (record.Agent, error) {
	run, told := g.record(host)
	if err := makeFolder(g.a, run.ID); err != nil {
		return run, err
	}
	at, err := g.terms.Prepare(ctx, g.a.Folder(run.ID))
	if err != nil {
		return run, err
	}
	run.Cwd, run.Worktree, run.Base = at.Dir, at.Worktree, at.Base
	if run.Frame, err = g.takeFrame(ctx, run); err != nil {
		return run, err
	}
	ctx = context.WithoutCancel(ctx)
	return run, g.a.Project.Store.Update(ctx, func(tx project.Tx) error {
		return errors.Join(record.Create(tx, run), record.Assignments.Save(tx, run.ID, told),
			record.Emit(tx, run.CreatedAt, run, core.SubagentSpawned, map[string]any{
				"agent_type": run.Type, "description": run.Description, "frame": run.Frame, "permission_mode": run.Mode.Effective,
				"model": run.Model, "limits": run.Limits, "machine": record.Machine(), "asked_by": run.Requester, "asked_as": run.RemoteID,
			}))
	})
}

// record returns the agent's record, within what this machine allows, and its assignment. The
// agent may not start others: only the asking machine knows the limits of its tree.
func (g remoteAgent) record(host hosts.Host) (record.Agent, record.Assignment) {
	a, w, t := g.a, g.work, g.terms
	id, def := a.Project.NewID("agent"), w.Definition // a new id from this machine: it names folders and marks processes
	told, limits := record.Assignment{Task: w.Task, Context: w.Context}, w.Limits.Within(a.Bounds.Each)
	limits.Retries = min(limits.Retries, a.Bounds.Each.Retries)
	run := record.Agent{
		ID: id, Tree: id, RemoteID: w.ID, ParentSession: project.CommandLine,
		Session: host.SessionID(), Frame: w.Frame, Depth: 1, MaxDepth: 1,
		Host: host.Name, CrossHost: true,
		Type: def.Name, Digest: w.Digest, Source: def.Source,
		Description: w.Description, Prompt: core.Cut(w.Task, record.MaxPrompt), Mode: record.CapMode(w.Mode, t.Most),
		Tools: w.Tools.Without(a.Hosts.SpawnTools()...), Model: w.Model, Limits: limits, Schema: w.Schema, Background: true,
		Checkout: a.Dir, Requester: t.Asker,
		State: core.AgentInitializing, CreatedAt: a.Project.Now(),
	}
	own, err := a.Catalog(a.Dir).Find(def.Name)
	if err == nil && !own.FromRepo() && own.Digest() == w.Digest {
		run.Source = own.Source // the same definition, but trusted here
	} else {
		told.Definition = &def
	}
	return run, told
}

// takeFrame takes over the frame of an agent and returns its id, or "" if the frame does not
// arrive in time.
func (g remoteAgent) takeFrame(ctx context.Context, run record.Agent) (string, error) {
	a := g.a
	frame, err := awaitFrame(ctx, a.Project, run.Frame)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	ctx = context.WithoutCancel(ctx) // a change of the frame is completed once it has begun
	if errors.Is(err, core.ErrNotFound) || run.Frame == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	again := g.terms.Attempt > 1
	left := again && (frame.Status == core.Failed || frame.Status == core.Blocked) // by the machine of a lost worker, which may be this machine
	switch {
	case frame.Status != core.InProgress && !left:
		return "", core.Invalidf("the frame of %s is %s", g.work.ID, frame.Status).WithHint("start another agent")
	case frame.Machine != g.terms.Asker && !again, frame.Session != "" && !left:
		return "", nil // the asking machine did not make it for this agent
	}
	work := project.AgentWork{
		Frame: frame.ID, Parent: run.ParentSession, Host: run.Host, Title: core.SubagentTitle(run.Description, run.Type), Given: true,
	}
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		return errors.Join(project.RecordAgentWork.Save(tx, run.ID, work), project.RecordAgentFrame.Save(tx, frame.ID, run.ID))
	})
	if err != nil {
		return "", err
	}
	// Until the host's session is known, the agent's id stands for it.
	by := project.Caller{Session: run.ID, Host: run.Host, Agent: run.ID, Trust: project.TrustFlame}
	_, err = stack.Activate(ctx, a.Project, by, frame.ID, false)
	if err != nil && again { // the machine of the lost worker still owns it
		a.Project.Log.Info("a restarted agent works without its frame", "agent", run.ID, "frame", frame.ID, "error", err)
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("its frame: %w", err)
	}
	return frame.ID, a.Project.Store.Update(ctx, func(tx project.Tx) error {
		return a.Project.Step(tx, project.Caller{}).BindAgentSession(run.ID, run.Session)
	})
}

// awaitFrame returns a frame, and waits for one that has not arrived yet.
func awaitFrame(ctx context.Context, p *project.Project, id string) (frame core.Frame, err error) {
	ctx, stop := context.WithTimeout(ctx, frameTime)
	defer stop()
	for range project.Every(ctx, 0, waitPace) {
		frame, err = project.Read(context.WithoutCancel(ctx), p, func(tx project.Tx) (core.Frame, error) { return tx.Frame(id) })
		if id == "" || !errors.Is(err, core.ErrNotFound) {
			break
		}
	}
	return frame, err
}

// ReportOf returns the state of an agent that another machine asked for, and the report to
// that machine.
func ReportOf(ctx context.Context, a *Agents, id string) (record.Report, core.AgentState, error) {
	run, err := a.Find(ctx, id)
	r := record.Report{Progress: run.Progress, Mode: run.Mode}
	if run.State.Ended() {
		r.Outcome, r.Changes, r.Unread = run.Outcome, run.Changes, run.Unread
	}
	return r, run.State, err
}
