package agents

import (
	"context"
	"fmt"
	"os"
	"strings"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// Folder returns the path of an agent's own folder.
func (a *Agents) Folder(id string) string { return record.Folder(a.Data, id) }

// launch starts the supervisor of an agent, which makes the agent's command itself.
// One that could not be made is told here, where somebody waits.
func (a *Agents) launch(ctx context.Context, run record.Run) error {
	if err := os.MkdirAll(a.Folder(run.ID), 0o700); err != nil {
		return core.Unavailablef(err, "could not make the agent's folder: %v", err)
	}
	if _, err := a.job(ctx, run); err != nil {
		return err
	}
	supervisor, err := a.Start(ctx, a.Seat(run.ID, run.Checkout))
	if err != nil {
		return core.Unavailablef(err, "could not start the agent's supervisor: %v", err)
	}
	if err := a.watchedBy(ctx, run.ID, supervisor); err != nil {
		a.Project.Log.Warn("an agent's supervisor was not noted; it will say so itself", "agent", run.ID, "error", err)
	}
	return nil
}

// Seat returns what the supervisor of an agent is started with, in the checkout
// whose definitions and settings are the agent's.
func (a *Agents) Seat(id, checkout string) supervise.Seat {
	return supervise.Seat{Program: a.Program, Agent: id, Dir: a.Folder(id), Cwd: checkout, Env: []string{a.ofProject()}}
}

// ofProject is the variable by which a process of flame finds the project, wherever
// it runs.
func (a *Agents) ofProject() string { return env.ProjectDir + "=" + a.Root }

// watchedBy keeps which process is to supervise an agent, so that it is missed
// should it die before it says so itself.
func (a *Agents) watchedBy(ctx context.Context, id string, supervisor supervise.Process) error {
	return a.Project.Store.Update(context.WithoutCancel(ctx), func(tx project.Tx) error {
		var l record.Live
		if known, err := record.Living.Load(tx, id, &l); !known || err != nil || l.Supervisor.PID != 0 {
			return err
		}
		l.Supervisor = supervisor
		return record.Living.Save(tx, id, l)
	})
}

// job makes what the supervisor of an agent does: its command comes from host,
// definition and record each time anew, never from what was written down (DESIGN
// §4). What the definition has become since may narrow what the agent may use.
func (a *Agents) job(ctx context.Context, run record.Run) (supervise.Job, error) {
	host, err := a.Hosts.Named(run.Host)
	if err != nil {
		return supervise.Job{}, err
	}
	var told record.Assignment
	err = a.Project.Store.View(ctx, func(tx project.Tx) (err error) {
		told, err = record.AssignmentOf(tx, run.ID)
		return err
	})
	if err != nil {
		return supervise.Job{}, err
	}
	def, err := a.planner().DefinitionOf(run, told)
	if err != nil {
		return supervise.Job{}, err
	}
	child, client := a.child(host, def, told, run), host.On(a.Machine)
	launch, err := client.Launch(child)
	if err != nil {
		return supervise.Job{}, err
	}
	child.Session, child.Resume = supervise.Session, true
	resume, err := client.Launch(child)
	if err != nil {
		return supervise.Job{}, err
	}
	return supervise.Job{
		ID: run.ID, Dir: child.Dir, Command: launch.Command, Resume: resume.Command,
		Env: append(launch.Env, a.ofProject()), Unset: a.Hosts.Variables(), Cwd: run.Cwd,
		Prompt: launch.Stdin, Fatal: launch.Fatal, GoOn: afterOutage, HandBack: handBack, Limits: run.Limits, SpentUSD: run.SpentUSD,
	}, nil
}

// child is what the host must know.
func (a *Agents) child(host hosts.Host, def definition.Definition, told record.Assignment, run record.Run) hosts.Child {
	keys, _ := def.HandedOn(host)
	tools := run.Tools.Only(def.Tools).Without(def.DisallowedTools...)
	return hosts.Child{
		ID: run.ID, Session: run.Session, Prompt: compose(run, told), System: def.Prompt,
		Title: core.SubagentTitle(run.Description, run.Type), Mode: run.Mode.Effective, Tools: tools, Trusted: def.Trusted(tools), Foreign: run.Foreign,
		Model: run.Model, Effort: def.Effort, MaxTurns: def.MaxTurns, CostUSD: run.Limits.CostUSD,
		Resume: run.Resumes, Dir: a.Folder(run.ID), Flame: a.Program, HostKeys: keys,
	}
}

// afterOutage is the prompt of an agent whose model could not be reached.
const afterOutage = "The model could not be reached for a while. Go on with your task where you were."

// handBack is the last prompt of an agent that reached a limit.
const handBack = "You have reached a limit of this task, so this is your last turn. Call no more tools. " +
	"Say what is done, what is not, and what whoever goes on must know."

// compose puts the frame's context behind the task, as native subagents get it,
// and says what becomes of the answer.
func compose(run record.Run, told record.Assignment) string {
	parts := []string{told.Task, told.Context, "Your last message is all that whoever gave you this task will see: put the whole result into it. " +
		"Where you can tell how sure you are of it, end with a line \"Confidence: N\", N from 0 to 1."}
	if len(run.Schema) > 0 {
		parts = append(parts, fmt.Sprintf("That message must be one JSON value that fits this JSON schema: %s", run.Schema))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}
