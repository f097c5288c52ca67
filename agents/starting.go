package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// Folder gives the path of an agent's own folder.
func (a *Agents) Folder(id string) string { return filepath.Join(a.Data, "agents", id) }

// launch writes what the agent's supervisor needs, and starts that.
func (a *Agents) launch(ctx context.Context, host Host, def Definition, context string, run *Run) error {
	if err := a.makeFolder(run.ID); err != nil {
		return err
	}
	if run.Worktree != "" {
		inside, err := addWorktree(ctx, run.Cwd, run.Worktree)
		if err != nil {
			return err
		}
		run.Cwd = inside
		if _, err := a.change(ctx, run.ID, func(_ project.Tx, kept *Run) error { kept.Cwd = inside; return nil }); err != nil {
			return err
		}
	}
	job, err := a.job(host, *run, a.child(host, def, context, *run))
	if err != nil {
		return err
	}
	return a.startJob(ctx, job)
}

func (a *Agents) makeFolder(id string) error {
	if err := os.MkdirAll(a.Folder(id), 0o700); err != nil {
		return core.Unavailablef(err, "could not make the agent's folder: %v", err)
	}
	return nil
}

// startJob starts the supervisor of a job.
func (a *Agents) startJob(ctx context.Context, job supervise.Job) error {
	if err := a.makeFolder(job.ID); err != nil {
		return err
	}
	digest, err := job.Save()
	if err != nil {
		return core.Unavailablef(err, "could not write what the agent starts from: %v", err)
	}
	if _, err := a.change(ctx, job.ID, func(_ project.Tx, run *Run) error {
		run.Job = digest
		return nil
	}); err != nil {
		return err
	}
	supervisor, err := a.Start(ctx, a.Program, job.Dir)
	if err != nil {
		return core.Unavailablef(err, "could not start the agent's supervisor: %v", err)
	}
	if err := a.watchedBy(ctx, job.ID, supervisor); err != nil {
		a.Project.Log.Warn("an agent's supervisor was not noted; it will say so itself", "agent", job.ID, "error", err)
	}
	return nil
}

// watchedBy keeps which process is to supervise an agent, so that it is missed
// should it die before it says so itself.
func (a *Agents) watchedBy(ctx context.Context, id string, supervisor supervise.Process) error {
	return a.Project.Store.Update(context.WithoutCancel(ctx), func(tx project.Tx) error {
		var l live
		if known, err := recordLive.Load(tx, id, &l); !known || err != nil || l.Supervisor.PID != 0 {
			return err
		}
		l.Supervisor = supervisor
		return recordLive.Save(tx, id, l)
	})
}

// child is what the host must know.
func (a *Agents) child(host Host, def Definition, context string, run Run) Child {
	keys, _ := handedOn(host, def)
	return Child{
		ID: run.ID, Session: run.Session, Prompt: compose(run, context), System: def.Prompt,
		Title: core.SubagentTitle(run.Description, run.Type), Mode: run.Mode.Effective, Tools: run.Tools, Trusted: run.Trusted, Foreign: run.Foreign,
		Model: run.Model, Effort: def.Effort, MaxTurns: def.MaxTurns, CostUSD: run.Limits.CostUSD,
		Resume: run.resumes, Dir: a.Folder(run.ID), Flame: a.Program, HostKeys: keys,
	}
}

// job is what the supervisor does.
func (a *Agents) job(host Host, run Run, child Child) (supervise.Job, error) {
	launch, err := host.Launch(child)
	if err != nil {
		return supervise.Job{}, err
	}
	child.Session, child.Resume = supervise.Session, true
	resume, err := host.Launch(child)
	if err != nil {
		return supervise.Job{}, err
	}
	return supervise.Job{
		ID: run.ID, Dir: child.Dir, Project: a.Dir, Host: run.Host, Command: launch.Command, Resume: resume.Command,
		Env: append(launch.Env, "FLAME_DIR="+a.Data), Unset: ofHosts(func(h traits) []string { return h.variables }), Cwd: run.Cwd,
		Task: run.task, Prompt: launch.Stdin, Fatal: launch.Fatal, GoOn: goOn, HandBack: handBack, Limits: run.Limits,
	}, nil
}

// goOn is the prompt of an agent whose model could not be reached.
const goOn = "The model could not be reached for a while. Go on with your task where you were."

// handBack is the last prompt of an agent that reached a limit.
const handBack = "You have reached a limit of this task, so this is your last turn. Call no more tools. " +
	"Say what is done, what is not, and what whoever goes on must know."

// compose puts the frame's context behind the task, as native subagents get it,
// and says what becomes of the answer.
func compose(run Run, context string) string {
	parts := []string{run.task, context, "Your last message is all that whoever gave you this task will see: put the whole result into it. " +
		"Where you can tell how sure you are of it, end with a line \"Confidence: N\", N from 0 to 1."}
	if len(run.Schema) > 0 {
		parts = append(parts, fmt.Sprintf("That message must be one JSON value that fits this JSON schema: %s", run.Schema))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}
