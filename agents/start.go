package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"flame/agents/changes"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/project"
	"flame/project/children"
)

// Plan returns the plan of an agent, so that a person can be asked before it starts. It
// refuses an agent that cannot start now.
func (a *Agents) Plan(ctx context.Context, by project.Caller, r plan.Request) (plan.Plan, error) {
	return a.planner().Plan(ctx, by, r)
}

// Spawn starts an agent for the caller and returns its record. It returns as soon as the
// supervisor runs. If it returns an error, nothing of the agent runs.
func (a *Agents) Spawn(ctx context.Context, by project.Caller, r plan.Request) (record.Agent, error) {
	p, err := a.planner().Draft(ctx, by, r)
	if err != nil {
		return record.Agent{}, err
	}
	return a.StartPlanned(ctx, p)
}

// StartPlanned starts the agent of a plan as Spawn does, if it is still allowed.
func (a *Agents) StartPlanned(ctx context.Context, p plan.Plan) (run record.Agent, err error) {
	if p.Known {
		return p.Agent, nil
	}
	p.Agent.Base = changes.Commit(ctx, p.Agent.Cwd)
	if p.Agent.IsRemote() {
		if err := pack(ctx, a.Remote, &p.Agent); err != nil {
			return record.Agent{}, err
		}
	}
	var made children.DelegateResult
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		run, made, err = p.Admit(tx)
		return err
	})
	switch {
	case err != nil:
		return record.Agent{}, err
	case run.ID != p.Agent.ID: // another call with the same key came first
		return run, nil
	}
	made.Log()
	planner := p.Planner
	if p.Grant != "" { // a person took time to answer: the definition may have changed
		planner = a.planner()
	}
	return a.start(ctx, planner, run)
}

// pack checks that an agent can run elsewhere, and records which part of its folder goes
// along.
func pack(ctx context.Context, e RemoteRunner, run *record.Agent) error {
	if err := reach(e); err != nil {
		return err
	}
	if told := e.Unserved(run.Queue); told != "" {
		run.Warnings = append(run.Warnings, told+"; the agent waits for one: `flame worker --queue "+run.Queue+"`")
	}
	if run.Base == "" {
		return nil
	}
	left, err := changes.Uncommitted(ctx, run.Cwd)
	switch {
	case left == 1:
		run.Warnings = append(run.Warnings, "1 file that is not committed: the agent does not see it")
	case left > 1:
		run.Warnings = append(run.Warnings, fmt.Sprintf("%d files that are not committed: the agent does not see them", left))
	}
	return err
}

// Continue resumes the work of an ended agent with another prompt: in the agent's session or,
// if that is unknown, in a new session with the context of its frame. The result is a new
// agent, with its own frame beside the first agent's frame.
func (a *Agents) Continue(ctx context.Context, by project.Caller, id, prompt string) (record.Agent, error) {
	return a.resume(ctx, by, id, prompt, func(project.Tx, record.Agent) error { return nil })
}

// resume is Continue; with stores more in the transaction that admits the new agent.
func (a *Agents) resume(ctx context.Context, by project.Caller, id, prompt string, also func(project.Tx, record.Agent) error) (record.Agent, error) {
	if strings.TrimSpace(prompt) == "" {
		return record.Agent{}, core.Invalidf("there is no prompt").WithHint("say what the agent is to do next")
	}
	old, err := a.directed(ctx, by, id)
	if errors.Is(err, core.ErrNotFound) {
		return a.continueNative(ctx, by, id, prompt)
	}
	if err != nil {
		return record.Agent{}, err
	}
	if !old.State.Ended() {
		return record.Agent{}, core.Invalidf("%s is %s", old.ID, old.State).WithHint("wait for its end with %s, or cancel it first", op.AgentWait)
	}
	planner := a.planner()
	next, err := planner.Successor(ctx, old, prompt)
	if err != nil {
		return record.Agent{}, err
	}
	under, err := children.OpenAncestor(ctx, a.Project, old.Frame)
	if err != nil {
		return record.Agent{}, err
	}
	var run record.Agent
	var made children.DelegateResult
	err = a.Project.Store.Update(ctx, func(tx project.Tx) error {
		if run, made, err = planner.Readmit(tx, by, old, next, under); err != nil {
			return err
		}
		told, err := record.Assignments.Find(tx, old.ID)
		if err != nil {
			return err
		}
		told.Task, told.Context = prompt, made.Context
		return errors.Join(record.Assignments.Save(tx, run.ID, told), also(tx, run))
	})
	if err != nil {
		return record.Agent{}, err
	}
	made.Log()
	return a.start(ctx, planner, run)
}

// ResumeCommand returns the command with which a person continues an agent's session, and the
// folder for it. id may also be the id of a session or of a frame.
func (a *Agents) ResumeCommand(ctx context.Context, id string) (command []string, dir string, err error) {
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
	if !h.Sessions.Resumes(session) {
		return nil, "", core.Invalidf("%s has no session of its own that could be opened", id).
			WithHint("give a prompt: another agent begins with its context then")
	}
	if err := run.OwnWorktree().Restore(ctx, a.Dir, record.Patch(a.Data, run.ID)); err != nil {
		return nil, "", err
	}
	command, err = h.ResumeCommand(a.Machine, session)
	return command, dir, err
}

// nativeSession returns the session of a host's own subagent, by the id of the subagent or of
// its frame, and its goal.
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

// continueNative continues the work of a host's own subagent as an agent: in the subagent's
// session if the host can do that, otherwise in a new session with the context of its frame.
func (a *Agents) continueNative(ctx context.Context, by project.Caller, id, prompt string) (record.Agent, error) {
	native, goal, err := nativeSession(ctx, a.Project.Store, id)
	if err != nil {
		return record.Agent{}, err
	}
	host, err := a.Hosts.Named(native.Host)
	if err != nil {
		return record.Agent{}, err
	}
	under, err := children.OpenAncestor(ctx, a.Project, native.Root)
	if err != nil {
		return record.Agent{}, err
	}
	session := native.ID
	if !host.Sessions.Resumes(session) {
		session = ""
	}
	p, err := a.planner().Continued(by, host, core.SubagentType(native.Title), session, goal, plan.Request{Prompt: prompt, Frame: under})
	if err != nil {
		return record.Agent{}, err
	}
	return a.StartPlanned(ctx, p)
}

func (a *Agents) start(ctx context.Context, planner plan.Planner, admitted record.Agent) (run record.Agent, err error) {
	if admitted.ResumedFrom == "" {
		run, err = isolate(ctx, a, admitted)
	} else {
		run, err = admitted, admitted.OwnWorktree().Restore(ctx, a.Dir, record.Patch(a.Data, admitted.ResumedFrom))
	}
	if err == nil {
		err = launch(ctx, a, planner, run)
	}
	if err != nil {
		return admitted, errors.Join(err, a.unstarted(ctx, admitted.ID, err))
	}
	return run, nil
}

// isolate makes the worktree of an agent that is to have one, and sets it as the working
// folder.
func isolate(ctx context.Context, a *Agents, run record.Agent) (record.Agent, error) {
	if run.Worktree == "" {
		return run, nil
	}
	if err := makeFolder(a, run.ID); err != nil {
		return run, err
	}
	inside, err := run.OwnWorktree().Add(ctx, run.Cwd)
	if err != nil {
		return run, err
	}
	return record.Change(ctx, a.Project.Store, run.ID, func(_ project.Tx, kept *record.Agent) error {
		kept.Cwd = inside
		return nil
	})
}

func makeFolder(a *Agents, id string) error {
	if err := os.MkdirAll(a.Folder(id), 0o700); err != nil {
		return core.Unavailablef(err, "could not make the agent's folder: %v", err)
	}
	return nil
}

// launch starts the supervisor of an agent, which builds the agent's command itself. If the
// command cannot be built, launch fails at once, because its caller waits.
func launch(ctx context.Context, a *Agents, planner plan.Planner, run record.Agent) error {
	if err := makeFolder(a, run.ID); err != nil {
		return err
	}
	if !run.IsRemote() {
		if _, err := jobOf(ctx, a, planner, run); err != nil {
			return err
		}
	}
	supervisor, err := a.Start(ctx, a.SupervisorSpec(run.ID, run.Checkout))
	if err != nil {
		return core.Unavailablef(err, "could not start the agent's supervisor: %v", err)
	}
	// The supervisor is recorded here too, so that flame notices its death before its own
	// first report.
	err = a.Project.Store.Update(context.WithoutCancel(ctx), func(tx project.Tx) error {
		live, known, err := record.ActiveAgents.Get(tx, run.ID)
		if !known || err != nil || live.Supervisor.PID != 0 {
			return err
		}
		live.Supervisor = supervisor
		return record.ActiveAgents.Save(tx, run.ID, live)
	})
	if err != nil {
		a.Project.Log.Warn("could not record an agent's supervisor; it will do so itself", "agent", run.ID, "error", err)
	}
	return nil
}

// SupervisorSpec returns the arguments of an agent's supervisor. It runs in the checkout whose
// definitions and settings apply to the agent.
func (a *Agents) SupervisorSpec(id, checkout string) supervise.StartSpec {
	return supervise.StartSpec{Program: a.Program, Agent: id, Dir: a.Folder(id), Cwd: checkout, Env: []string{ofProject(a)}}
}

// ofProject returns the variable that tells a process of flame its project, in whatever folder
// it runs.
func ofProject(a *Agents) string { return env.ProjectDir + "=" + a.Root }

// jobOf builds the job of an agent's supervisor. The command always comes from host,
// definition and record, never from a stored command. A definition that has
// changed since may narrow the agent's tools.
func jobOf(ctx context.Context, a *Agents, planner plan.Planner, run record.Agent) (job supervise.Job, err error) {
	host, err := a.Hosts.Named(run.Host)
	if err != nil {
		return job, err
	}
	told, err := record.AssignmentOf(ctx, a.Project, run.ID)
	if err != nil {
		return job, err
	}
	def, err := planner.DefinitionOf(run, told)
	if err != nil {
		return job, err
	}
	child, client := childOf(a, host, def, told, run), host.Client(a.Machine)
	launch, err := client.Launch(child)
	if err != nil {
		return job, err
	}
	child.Session, child.Resume = supervise.Session, true
	resume, err := client.Launch(child)
	return supervise.Job{
		ID: run.ID, Dir: child.Dir, Command: launch.Command, Resume: resume.Command,
		Env: append(launch.Env, ofProject(a)), Unset: a.Hosts.Each(func(h hosts.Host) []string { return h.Variables.UnsetForAgents }), Cwd: run.Cwd,
		Prompt: launch.Stdin, Fatal: launch.Fatal, RetryPrompt: afterOutage, FinalPrompt: handBack, Limits: run.Limits, SpentUSD: run.SpentUSD,
		Spent: run.Spent,
	}, err
}

// childOf returns what the host must know of an agent.
func childOf(a *Agents, host hosts.Host, def definition.Definition, told record.Assignment, run record.Agent) hosts.LaunchSpec {
	keys, _ := def.PassedKeys(host)
	tools := run.Tools.Only(def.Tools).Without(def.DisallowedTools...)
	trusted := def.Trusted(tools)
	if run.Requester != "" { // rules in a person's own files are trusted, but only on that person's machine
		trusted = nil
	}
	return hosts.LaunchSpec{
		ID: run.ID, Session: run.Session, Prompt: compose(run, told), System: def.Prompt,
		Title: core.SubagentTitle(run.Description, run.Type), Mode: run.Mode.Effective, Tools: tools, Trusted: trusted,
		Foreign: run.CrossHost, Strange: run.Requester != "",
		Model: run.Model, Effort: def.Effort, MaxTurns: def.MaxTurns, CostUSD: run.Limits.CostUSD,
		Resume: run.Resumes, Dir: a.Folder(run.ID), Flame: a.Program, HostKeys: keys,
	}
}

// afterOutage is the prompt of an agent whose model could not be reached.
const afterOutage = "The model could not be reached for a while. Go on with your task where you were."

// handBack is the last prompt of an agent that reached a limit.
const handBack = "You have reached a limit of this task, so this is your last turn. Call no more tools. " +
	"Say what is done, what is not, and what the next agent needs to know."

// unmentioned keeps a host from attaching files outside of its folder that a text mentions.
var unmentioned = strings.NewReplacer("@/", "@ /", "@~", "@ ~", "@..", "@ ..", `@"`, `@ "`)

// compose appends the frame's context to the task, as for native subagents, and says who will
// read the answer.
func compose(run record.Agent, told record.Assignment) string {
	if run.Requester != "" {
		told.Task, told.Context = unmentioned.Replace(told.Task), unmentioned.Replace(told.Context)
		if strings.IndexAny(strings.TrimSpace(told.Task), "/!#") == 0 { // the host would read it as a command of its user
			told.Task = "The task: " + told.Task
		}
	}
	parts := []string{told.Task, told.Context, "Your last message is all that the author of this task will see: put the whole result into it. " +
		"Where you can tell how sure you are of it, end with a line \"Confidence: N\", N from 0 to 1."}
	if len(run.Schema) > 0 {
		parts = append(parts, fmt.Sprintf("That message must be one JSON value that fits this JSON schema: %s", run.Schema))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}
