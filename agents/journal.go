package agents

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
)

// Supervise runs an agent to its end. `flame supervise` calls it.
func (a *Agents) Supervise(ctx context.Context, id string, log *slog.Logger) error {
	// Cancelling an agent that has not started ends it properly, too.
	lasting := context.WithoutCancel(ctx)
	run, err := a.Find(lasting, id)
	if err != nil {
		return err
	}
	if run.IsRemote() {
		return follow(ctx, a, run, log)
	}
	job, err := jobOf(lasting, a, a.planner(), run)
	if err != nil {
		return errors.Join(err, a.unstarted(ctx, run.ID, err))
	}
	s := supervise.Supervisor{
		Job: job, Read: a.Hosts.Of(run.Host).Agents.RunFormat.Reader(), Journal: journal{a, job.ID}, Log: log, Pace: supervise.DefaultPace,
	}
	defer gated(a, run, &s)()
	_, err = s.Run(ctx)
	return err
}

// A journal writes the reports of an agent's supervisor to the agent's record and to the event
// log.
type journal struct {
	a  *Agents
	id string
}

// errOver is the error for a supervisor whose agent has ended before it began.
var errOver = errors.New("the agent is over")

// Begin records which process supervises the agent.
func (j journal) Begin(ctx context.Context, by supervise.Process) error {
	run, err := record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, run *record.Agent) error {
		live, err := record.ActiveAgents.Find(tx, j.id)
		return errors.Join(err, record.ActiveAgents.Save(tx, j.id,
			record.ActiveAgent{Supervisor: by, Worker: live.Worker, Again: live.Again, Since: run.CreatedAt}))
	})
	if err == nil && run.State.Ended() {
		err = errOver
	}
	return err
}

// Active records that the agent runs, and in which session.
func (j journal) Active(ctx context.Context, p supervise.Progress) error {
	p.Text = core.Cut(p.Text, changes.MaxExcerpt)
	run, err := record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, run *record.Agent) error {
		before := run.State
		run.State = core.AgentActive // Report and End count its usage
		if p.Session != "" {
			run.Session = p.Session
		}
		if before == core.AgentActive {
			return nil // this is the last turn, in another process of the host
		}
		return record.Emit(tx, j.a.Project.Now(), *run, core.SubagentActive, map[string]any{"initial_state": core.AgentActive})
	})
	if err != nil || run.Session == "" {
		return err
	}
	return j.a.Project.Update(ctx, parentOf(run), func(s *project.Op) error { return s.BindAgentSession(run.ID, run.Session) })
}

// warnAt is the share of a budget at which flame writes a warning.
const warnAt = 0.8

// progressPace is the least time between two progress events of an agent.
const progressPace = core.Millis(5_000)

// Tell records the agent's progress, and returns whether the agent may continue.
func (j journal) Report(ctx context.Context, p supervise.Progress) (orders supervise.Directive, err error) {
	p.Text = core.Cut(p.Text, changes.MaxExcerpt)
	var news, sign bool
	now := j.a.Project.Now()
	err = j.a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err := record.Find(tx, j.id)
		if err != nil {
			return err
		}
		live, _, err := record.ActiveAgents.Get(tx, j.id)
		if err != nil {
			return err
		}
		news, sign = run.Progress != p, now-live.Seen >= record.SignPace
		orders, err = j.orders(tx, run)
		return err
	})
	if err == nil && sign {
		err = j.sign(ctx, now)
	}
	if err != nil || !news {
		return orders, err
	}
	_, err = record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, run *record.Agent) error {
		if err := record.ChargeUsage(j.a.Project.Step(tx, project.Caller{}), run, p); err != nil {
			return err
		}
		run.Progress = p
		return j.tellProgress(tx, *run)
	})
	return orders, err
}

// sign records that the supervisor lives, for those who cannot see its process.
func (j journal) sign(ctx context.Context, now core.Millis) error {
	_, err := record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, _ *record.Agent) error {
		live, known, err := record.ActiveAgents.Get(tx, j.id)
		if err != nil || !known {
			return err
		}
		live.Seen = now
		return record.ActiveAgents.Save(tx, j.id, live)
	})
	return err
}

// tellProgress writes a progress event of an agent from time to time, and once a warning when
// the budget is nearly used.
func (j journal) tellProgress(tx project.Tx, run record.Agent) error {
	l, known, err := record.ActiveAgents.Get(tx, run.ID)
	if !known || err != nil {
		return err
	}
	now, p := j.a.Project.Now(), run.Progress
	low := run.Limits.Tokens > 0 && float64(p.Tokens()) >= warnAt*float64(run.Limits.Tokens) ||
		run.Limits.CostUSD > 0 && p.Cost() >= warnAt*run.Limits.CostUSD
	if low && !l.Warned {
		l.Warned = true
		if err := record.Emit(tx, now, run, core.BudgetWarning, map[string]any{"tokens": p.Tokens(), "costUSD": p.Cost(), "limits": run.Limits}); err != nil {
			return err
		}
	} else if now-l.LastProgressAt < progressPace {
		return nil
	}
	l.LastProgressAt = now
	if err := record.ActiveAgents.Save(tx, run.ID, l); err != nil {
		return err
	}
	return record.Emit(tx, now, run, core.SubagentProgress, map[string]any{
		"last_tool": p.LastTool, "tokens": p.Tokens(), "tool_uses": p.ToolCalls, "duration_ms": now - run.CreatedAt,
	})
}

// Retry records that the agent waits for another attempt.
func (j journal) Retry(ctx context.Context, r supervise.Retry) error {
	_, err := record.Change(ctx, j.a.Project.Store, j.id, func(tx project.Tx, run *record.Agent) error {
		run.State, run.Progress.Attempt = core.AgentSuspended, r.Attempt
		return record.Emit(tx, j.a.Project.Now(), *run, core.SubagentRetry, map[string]any{
			"agent_type": run.Type, "attempt": r.Attempt, "reason": r.Reason, "delay": r.Delay.Milliseconds(),
		})
	})
	return err
}

// End records how the agent ended, and ends its frame.
func (j journal) End(ctx context.Context, o supervise.Outcome) error { return j.a.end(ctx, j.id, o) }

// gated puts a gateway between the host of an agent and its model if the session that asked
// for the agent has one. It returns a function that closes the gateway. An agent works without
// a gateway too, so gated only logs errors.
func gated(a *Agents, run record.Agent, s *supervise.Supervisor) (closeGate func()) {
	nothing := func() {}
	if a.OpenGate == nil {
		return nothing
	}
	host, meter := a.Hosts.Of(run.Host), &supervise.Meter{}
	gate, err := a.OpenGate(host, run.ID, meter.Add)
	if err != nil {
		s.Log.Warn("the agent has no gateway", "error", err)
	}
	if gate == nil {
		return nothing
	}
	s.Job.Env = append(s.Job.Env, gate.Env...)
	if gate.Base == "" {
		return gate.Close
	}
	if err := gate.guard(host, a.Machine.InProject(run.Checkout), s); err != nil {
		s.Log.Warn("the agent has no gateway", "error", err)
		gate.Close()
		return nothing
	}
	meter.Close, s.Meter = gate.Close, meter
	return gate.Close
}

// guard makes the host of a supervised agent send its requests to the gateway. The agent could
// change the settings file, so guard writes it again before each process of the host.
func (g *Gateway) guard(host hosts.Host, m hosts.Machine, s *supervise.Supervisor) error {
	var starts hosts.GatewayLaunch
	commands, env := [][]string{s.Job.Command, s.Job.Resume}, []string(nil)
	for i, command := range commands {
		behind, err := host.Gateway.Plan(m, command[1:])
		if err != nil {
			return err
		}
		if behind.Plain {
			return errors.New("its command line leaves no place for one")
		}
		if behind.Upstream == nil || !slices.Contains(g.For, behind.Upstream.String()) {
			return errors.New("its requests go to another server than those of the gateway")
		}
		var args []string
		if args, env, err = behind.Start(g.Base, g.Mark, g.Write); err != nil {
			return err
		}
		commands[i], starts = append(command[:1:1], args...), behind
	}
	s.Job.Command, s.Job.Resume, s.Job.Env = commands[0], commands[1], append(s.Job.Env, env...)
	s.Prepare = func() error {
		_, _, err := starts.Start(g.Base, g.Mark, g.Write)
		return err
	}
	return nil
}

// Recover cleans up after killed processes. Agents that lost their supervisor end with the
// outcome that it recorded, or as orphaned. Recover also ends their remaining processes and
// the frames of ended agents. If no agent is running, it only reads.
func (a *Agents) Recover(ctx context.Context) error {
	all, err := project.Read(ctx, a.Project, func(tx project.Tx) (map[string]record.ActiveAgent, error) { return record.ActiveAgents.ByID(tx) })
	if err != nil {
		return err
	}
	var recovered sync.WaitGroup
	errs := make(chan error, len(all))
	for id, l := range all {
		if !l.Watched(a.Project.Now()) {
			// In parallel: each may have to wait for processes to end.
			recovered.Go(func() { errs <- a.recover(ctx, id, l.Supervisor) })
		}
	}
	recovered.Wait()
	close(errs)
	for failed := range errs {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, record.ReleaseSessions(ctx, a.Project, all))
}

func (a *Agents) recover(ctx context.Context, id string, by supervise.Process) error {
	run, err := a.Find(ctx, id)
	if err != nil {
		return err
	}
	if run.State.Ended() {
		return a.finish(ctx, run)
	}
	supervise.KillLeftovers(id, a.Folder(id))
	if run.IsRemote() {
		if following, err := followAgain(ctx, a, run, by); following || err != nil {
			return err
		}
	}
	outcome, known, err := supervise.LoadOutcome(a.Folder(id))
	if !known || err != nil {
		outcome = orphaned(run, by.PID != 0, a.Project.Now())
		if told, text := supervise.ReadProgress(a.Folder(id), run.SpentUSD, run.Spent, a.Hosts.Of(run.Host).Agents.RunFormat.Reader()); told.Session != "" {
			told.Attempt = run.Progress.Attempt
			if run.Progress.Metered {
				told = told.MeteredAs(run.Progress)
			}
			outcome.Progress, outcome.Text = told, text
		}
	}
	return a.end(ctx, id, outcome)
}

// orphaned returns the outcome of an agent whose supervisor reported no outcome.
func orphaned(run record.Agent, begun bool, now core.Millis) supervise.Outcome {
	o := supervise.Outcome{
		State: core.AgentOrphaned, Reason: "its supervisor was killed", Partial: true,
		StartedAt: run.CreatedAt, EndedAt: now, Progress: run.Progress,
	}
	switch {
	case run.CancelledBy != "":
		o.State, o.Reason = core.AgentCancelled, "cancelled by "+run.CancelledBy
	case !begun:
		o.State, o.Reason = core.AgentError, "its supervisor never began"
	}
	return o
}

// waitPace is the time between two checks of a waiting caller.
const waitPace = 100 * time.Millisecond

// Wait returns the record of an agent once the agent and its frame have ended and a handoff to
// it is resolved, or the current record when ctx ends. It calls progress at each check.
func (a *Agents) Wait(ctx context.Context, id string, progress func(record.Agent)) (run record.Agent, err error) {
	settling, looks := false, 0
	for range project.Every(ctx, 0, waitPace) {
		if looks++; looks%20 == 0 { // the supervisor may have been killed meanwhile
			if err := a.Recover(context.WithoutCancel(ctx)); err != nil {
				a.Project.Log.Warn("could not recover agents", "error", err)
			}
		}
		if run, err = a.Find(context.WithoutCancel(ctx), id); err != nil {
			return run, err
		}
		if !run.State.Ended() {
			progress(run)
		} else if left, err := a.settle(context.WithoutCancel(ctx), run, settling); !left || err != nil {
			return run, err
		} else {
			settling = true
		}
	}
	return run, nil
}

// settle does the remaining work for an ended agent, unless begun says that this process tried
// it before. It reports whether work remains: then another process is doing it, and Recover
// takes over if that process dies.
func (a *Agents) settle(ctx context.Context, run record.Agent, begun bool) (left bool, err error) {
	left, err = a.isUnsettled(ctx, run)
	if !left || begun || err != nil {
		return left, err
	}
	if err := a.finish(ctx, run); err != nil {
		return true, err
	}
	return a.isUnsettled(ctx, run)
}

func (a *Agents) isUnsettled(ctx context.Context, run record.Agent) (left bool, err error) {
	return project.Read(ctx, a.Project, func(tx project.Tx) (bool, error) {
		_, left, err := record.ActiveAgents.Get(tx, run.ID)
		return left, err
	})
}
