package agents

import (
	"context"
	"fmt"
	"os"
	"strings"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// A launcher starts the supervisors of agents, and makes what they run.
type launcher struct {
	plan.Planner
	root    string // the project's folder
	program string // flame itself
	start   func(ctx context.Context, seat supervise.Seat) (supervise.Process, error)
}

func (a *Agents) launcher() launcher {
	return launcher{Planner: a.planner(), root: a.Root, program: a.Program, start: a.Start}
}

// Folder returns the path of an agent's own folder.
func (a *Agents) Folder(id string) string { return record.Folder(a.Data, id) }

// Seat returns what the supervisor of an agent is started with, in the checkout
// whose definitions and settings are the agent's.
func (a *Agents) Seat(id, checkout string) supervise.Seat { return a.launcher().seat(id, checkout) }

// isolate makes the worktree that an agent is to have, if any, and has it work
// there.
func (l launcher) isolate(ctx context.Context, run record.Run) (record.Run, error) {
	if run.Worktree == "" {
		return run, nil
	}
	if err := os.MkdirAll(record.Folder(l.Data, run.ID), 0o700); err != nil {
		return run, core.Unavailablef(err, "could not make the agent's folder: %v", err)
	}
	inside, err := run.Own().Add(ctx, run.Cwd)
	if err != nil {
		return run, err
	}
	return record.Change(ctx, l.Project.Store, run.ID, func(_ project.Tx, kept *record.Run) error {
		kept.Cwd = inside
		return nil
	})
}

// launch starts the supervisor of an agent, which makes the agent's command itself.
// One that could not be made is told here, where somebody waits.
func (l launcher) launch(ctx context.Context, run record.Run) error {
	if err := os.MkdirAll(record.Folder(l.Data, run.ID), 0o700); err != nil {
		return core.Unavailablef(err, "could not make the agent's folder: %v", err)
	}
	if !run.Elsewhere() {
		if _, err := l.job(ctx, run); err != nil {
			return err
		}
	}
	supervisor, err := l.start(ctx, l.seat(run.ID, run.Checkout))
	if err != nil {
		return core.Unavailablef(err, "could not start the agent's supervisor: %v", err)
	}
	if err := l.watchedBy(ctx, run.ID, supervisor); err != nil {
		l.Project.Log.Warn("an agent's supervisor was not noted; it will say so itself", "agent", run.ID, "error", err)
	}
	return nil
}

func (l launcher) seat(id, checkout string) supervise.Seat {
	return supervise.Seat{Program: l.program, Agent: id, Dir: record.Folder(l.Data, id), Cwd: checkout, Env: []string{l.ofProject()}}
}

// ofProject is the variable by which a process of flame finds the project, wherever
// it runs.
func (l launcher) ofProject() string { return env.ProjectDir + "=" + l.root }

// watchedBy keeps which process is to supervise an agent, so that it is missed
// should it die before it says so itself.
func (l launcher) watchedBy(ctx context.Context, id string, supervisor supervise.Process) error {
	return l.Project.Store.Update(context.WithoutCancel(ctx), func(tx project.Tx) error {
		var live record.Live
		if known, err := record.Living.Load(tx, id, &live); !known || err != nil || live.Supervisor.PID != 0 {
			return err
		}
		live.Supervisor = supervisor
		return record.Living.Save(tx, id, live)
	})
}

// job makes what the supervisor of an agent does: its command comes from host,
// definition and record each time anew, never from what was written down (DESIGN
// §4). What the definition has become since may narrow what the agent may use.
func (l launcher) job(ctx context.Context, run record.Run) (supervise.Job, error) {
	host, err := l.Hosts.Named(run.Host)
	if err != nil {
		return supervise.Job{}, err
	}
	told, err := record.AssignmentOf(ctx, l.Project.Store, run.ID)
	if err != nil {
		return supervise.Job{}, err
	}
	def, err := l.DefinitionOf(run, told)
	if err != nil {
		return supervise.Job{}, err
	}
	child, client := l.child(host, def, told, run), host.On(l.Machine)
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
		Env: append(launch.Env, l.ofProject()), Unset: l.Hosts.Variables(), Cwd: run.Cwd,
		Prompt: launch.Stdin, Fatal: launch.Fatal, GoOn: afterOutage, HandBack: handBack, Limits: run.Limits, SpentUSD: run.SpentUSD,
	}, nil
}

// child is what the host must know.
func (l launcher) child(host hosts.Host, def definition.Definition, told record.Assignment, run record.Run) hosts.Child {
	keys, _ := def.HandedOn(host)
	tools := run.Tools.Only(def.Tools).Without(def.DisallowedTools...)
	trusted := def.Trusted(tools)
	if run.For != "" { // rules trust a person's own files, and not those of another machine
		trusted = nil
	}
	return hosts.Child{
		ID: run.ID, Session: run.Session, Prompt: compose(run, told), System: def.Prompt,
		Title: core.SubagentTitle(run.Description, run.Type), Mode: run.Mode.Effective, Tools: tools, Trusted: trusted,
		Foreign: run.Foreign, Strange: run.For != "",
		Model: run.Model, Effort: def.Effort, MaxTurns: def.MaxTurns, CostUSD: run.Limits.CostUSD,
		Resume: run.Resumes, Dir: record.Folder(l.Data, run.ID), Flame: l.program, HostKeys: keys,
	}
}

// afterOutage is the prompt of an agent whose model could not be reached.
const afterOutage = "The model could not be reached for a while. Go on with your task where you were."

// handBack is the last prompt of an agent that reached a limit.
const handBack = "You have reached a limit of this task, so this is your last turn. Call no more tools. " +
	"Say what is done, what is not, and what whoever goes on must know."

// unmentioned keeps a host from attaching files outside of its folder that a text mentions.
var unmentioned = strings.NewReplacer("@/", "@ /", "@~", "@ ~", "@..", "@ ..", `@"`, `@ "`)

// compose puts the frame's context behind the task, as native subagents get it,
// and says what becomes of the answer.
func compose(run record.Run, told record.Assignment) string {
	if run.For != "" {
		told.Task, told.Context = unmentioned.Replace(told.Task), unmentioned.Replace(told.Context)
		if strings.IndexAny(strings.TrimSpace(told.Task), "/!#") == 0 { // what a host takes for a command of its user's
			told.Task = "The task: " + told.Task
		}
	}
	parts := []string{told.Task, told.Context, "Your last message is all that whoever gave you this task will see: put the whole result into it. " +
		"Where you can tell how sure you are of it, end with a line \"Confidence: N\", N from 0 to 1."}
	if len(run.Schema) > 0 {
		parts = append(parts, fmt.Sprintf("That message must be one JSON value that fits this JSON schema: %s", run.Schema))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}
