package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"flame/agents/away"
	"flame/agents/definition"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/stack"
)

// Terms are what a worker lets the agents of other machines do, and where.
type Terms struct {
	Asker   string     // id of the machine that asks
	Attempt int        // which worker this one is, 1 for the first; it may go on in the frame of a lost one
	Most    hosts.Mode // no agent works in a wider one

	// Prepare makes the folder that an agent works in, below the agent's own folder.
	Prepare func(ctx context.Context, folder string) (Place, error)
}

// A Place is where an agent works that another machine asked for.
type Place struct {
	Dir      string // that it works in
	Worktree string // that Dir is in; empty: none
	Base     string // commit that this began from
}

// frameTime bounds the wait for the frame of an agent that another machine asked for: it
// comes by way of the hub, as the work does, and may be later.
const frameTime = 10 * time.Second

// TakeOn starts an agent here that another machine asked for. Its frame is taken over from
// that machine, if it is known here: it belongs to the machine whose session works in it.
// If ctx ends before, the agent is not started, and nothing of it is kept.
func TakeOn(ctx context.Context, a *Agents, w away.Work, t Terms) (record.Run, error) {
	host, err := a.Hosts.Named(w.Host)
	if err != nil {
		return record.Run{}, err
	}
	if !host.Installed(a.Machine) {
		return record.Run{}, core.NotFoundf("%s is not installed on the worker's machine", w.Host).
			WithHint("install it there, or ask a queue whose workers have it")
	}
	g := guest{a, w, t}
	run, err := g.enrol(ctx, host)
	if err != nil {
		return run, errors.Join(err, os.RemoveAll(a.Folder(run.ID))) // a mirror forgets a worktree that is gone
	}
	ctx = context.WithoutCancel(ctx)
	if err := a.launcher().launch(ctx, run); err != nil {
		return run, errors.Join(err, a.unstarted(ctx, run.ID, err))
	}
	return run, nil
}

// IsGuest reports whether an agent runs here that another machine asked for. An agent whose
// record is gone is none.
func IsGuest(ctx context.Context, store project.Store, id string) (guest bool, err error) {
	if id == "" {
		return false, nil
	}
	err = store.View(ctx, func(tx project.Tx) error {
		var run record.Run
		_, err := record.Runs.Load(tx, id, &run)
		guest = run.For != ""
		return err
	})
	return guest, err
}

// A guest is an agent that another machine asks for.
type guest struct {
	a     *Agents
	work  away.Work
	terms Terms
}

// enrol makes the agent's folder, takes its frame over and keeps its record.
func (g guest) enrol(ctx context.Context, host hosts.Host) (record.Run, error) {
	run, told := g.record(host)
	folder := g.a.Folder(run.ID)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return run, core.Unavailablef(err, "could not make the agent's folder: %v", err)
	}
	at, err := g.terms.Prepare(ctx, folder)
	if err != nil {
		return run, err
	}
	run.Cwd, run.Worktree, run.Base = at.Dir, at.Worktree, at.Base
	if run.Frame, err = g.takeFrame(ctx, run); err != nil {
		return run, err
	}
	ctx = context.WithoutCancel(ctx)
	return run, g.a.Project.Store.Update(ctx, func(tx project.Tx) error {
		return errors.Join(record.Enrol(tx, run), record.Assignments.Save(tx, run.ID, told),
			record.Tell(tx, run.CreatedAt, run, core.SubagentSpawned, map[string]any{
				"agent_type": run.Type, "description": run.Description, "frame": run.Frame, "permission_mode": run.Mode.Effective,
				"model": run.Model, "limits": run.Limits, "machine": record.Machine(), "asked_by": run.For, "asked_as": run.Asked,
			}))
	})
}

// record returns the agent's record, as this machine lets it be, and what it is told. It
// starts no others: the limits of its tree are looked after where it was asked for.
func (g guest) record(host hosts.Host) (record.Run, record.Assignment) {
	a, w, t := g.a, g.work, g.terms
	id, def := a.Project.NewID("agent"), w.Definition // an id of this machine's: folders are named by it, and processes marked
	told := record.Assignment{Task: w.Task, Context: w.Context}
	run := record.Run{
		ID: id, Tree: id, Asked: w.ID, ParentSession: project.CommandLine,
		Session: host.On(a.Machine).NewSession(), Frame: w.Frame, Depth: 1, MaxDepth: 1,
		Host: host.Name, Foreign: true,
		Type: def.Name, Digest: w.Digest, Source: def.Source,
		Description: w.Description, Prompt: core.Cut(w.Task, record.MaxPrompt), Mode: away.Narrowed(w.Mode, t.Most),
		Tools: w.Tools.Without(a.Hosts.SpawnTools()...), Model: w.Model, Limits: g.limits(), Schema: w.Schema, Background: true,
		Checkout: a.Dir, For: t.Asker,
		State: core.AgentInitializing, CreatedAt: a.Project.Now(),
	}
	own, err := a.Catalog(a.Dir).Find(def.Name)
	if err == nil && !own.Shipped() && own.Digest() == w.Digest {
		run.Source = own.Source // the same, but trusted here
	} else {
		told.Definition = &def
	}
	return run, told
}

// limits returns what bounds the agent: what was asked for, and this machine's own bounds.
func (g guest) limits() supervise.Limits {
	asked, own := g.work.Limits, g.a.Bounds.Each
	asked.Wall, asked.Idle, asked.Start = least(asked.Wall, own.Wall), least(asked.Idle, own.Idle), least(asked.Start, own.Start)
	asked.Tokens, asked.CostUSD, asked.Output = least(asked.Tokens, own.Tokens), least(asked.CostUSD, own.CostUSD), least(asked.Output, own.Output)
	asked.SameCalls, asked.Stale, asked.Retries = least(asked.SameCalls, own.SameCalls), least(asked.Stale, own.Stale), min(asked.Retries, own.Retries)
	return asked
}

// least returns the lesser of two limits, of which 0 is none.
func least[T int | int64 | float64 | time.Duration](x, y T) T {
	if x == 0 || y == 0 {
		return max(x, y)
	}
	return min(x, y)
}

// takeFrame takes over the frame of an agent, and returns its id; empty if it is not known
// here in time.
func (g guest) takeFrame(ctx context.Context, run record.Run) (string, error) {
	a := g.a
	frame, err := awaitFrame(ctx, a.Project.Store, run.Frame)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	ctx = context.WithoutCancel(ctx) // what is begun with the frame is not left half done
	if errors.Is(err, core.ErrNotFound) || run.Frame == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	again := g.terms.Attempt > 1
	left := again && (frame.Status == core.Failed || frame.Status == core.Blocked) // by the machine of a lost worker, which may be this one
	switch {
	case frame.Status != core.InProgress && !left:
		return "", core.Invalidf("the frame of %s is %s", g.work.ID, frame.Status).WithHint("start another agent")
	case frame.Machine != g.terms.Asker && !again, frame.Session != "" && !left:
		return "", nil // not one that its asker made for it
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
	// Until its host's session is known, an agent's own id stands for it.
	by := project.Caller{Session: run.ID, Host: run.Host, Agent: run.ID, Trust: project.ByFlame}
	_, err = stack.Activate(ctx, a.Project, by, frame.ID, false)
	if err != nil && again { // the machine of the lost one has it still
		a.Project.Log.Info("an agent that is begun anew works without its frame", "agent", run.ID, "frame", frame.ID, "error", err)
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("its frame: %w", err)
	}
	return frame.ID, a.Project.Store.Update(ctx, func(tx project.Tx) error {
		return a.Project.Step(tx, project.Caller{}).Join(run.ID, run.Session)
	})
}

// awaitFrame returns a frame, which may still be on its way here.
func awaitFrame(ctx context.Context, store project.Store, id string) (frame core.Frame, err error) {
	ctx, stop := context.WithTimeout(ctx, frameTime)
	defer stop()
	tick := time.NewTicker(waitPace)
	defer tick.Stop()
	for {
		err = store.View(context.WithoutCancel(ctx), func(tx project.Tx) error {
			frame, err = tx.Frame(id)
			return err
		})
		if id == "" || !errors.Is(err, core.ErrNotFound) {
			return frame, err
		}
		select {
		case <-ctx.Done():
			return frame, err
		case <-tick.C:
		}
	}
}

// workersOrders returns what ends an agent from outside that another machine asked for.
func (j journal) workersOrders(tx project.Tx, run record.Run) (orders supervise.Orders, err error) {
	var live record.Live
	known, err := record.Living.Load(tx, run.ID, &live)
	if err == nil && known && live.Worker.PID != 0 && live.Worker.Here() && !live.Worker.Alive() {
		orders = supervise.Orders{Stop: core.AgentCancelled, Reason: "the worker that ran it is gone"}
	}
	return orders, err
}

// ReportOf returns how far an agent is that another machine asked for.
func ReportOf(ctx context.Context, a *Agents, id string) (r away.Report, state core.AgentState, err error) {
	run, err := a.Find(ctx, id)
	if err != nil {
		return r, "", err
	}
	r = away.Report{Progress: run.Progress, Mode: run.Mode, Own: run.Source.Kind != definition.Machine}
	if own, err := a.Catalog(a.Dir).Find(run.Type); err == nil {
		r.Digest = own.Digest()
	}
	if run.State.Ended() {
		r.Outcome, r.Changes = run.Outcome, run.Changes
	}
	return r, run.State, nil
}
