package agents

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// Cancel stops an agent and all that it started. What they did is kept. It gives
// those that it told to stop; they may take seconds to end.
func (a *Agents) Cancel(ctx context.Context, by project.Caller, id string) (stopped []Run, err error) {
	run, err := a.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := a.mayDirect(ctx, by, run); err != nil {
		return nil, err
	}
	who := cmp.Or(by.Session, by.Host, project.CommandLine)
	if stopped, err = a.cancelBelow(ctx, run.ID, who); err != nil {
		return stopped, err
	}
	own, err := a.cancel(ctx, run.ID, who)
	if own.ID != "" {
		stopped = append([]Run{own}, stopped...)
	}
	return stopped, err
}

// mayDirect refuses what an agent wants of others than those that it started. A
// user's session may stop any.
func (a *Agents) mayDirect(ctx context.Context, by project.Caller, run Run) error {
	return a.Project.Store.View(ctx, func(tx project.Tx) error { return mayDirect(tx, by, run) })
}

func mayDirect(tx project.Tx, by project.Caller, run Run) error {
	caller, err := agentOf(tx, by, by.Session)
	if err != nil || caller.ID == "" {
		return err
	}
	all, err := list(tx)
	if err == nil && !slices.Contains(family(all, caller.ID)[1:], run.ID) {
		err = core.Invalidf("%s was not started by %s", run.ID, caller.ID).WithHint("only whoever started an agent may stop it or hand over to it")
	}
	return err
}

// cancel asks one agent to stop. It gives none that was over.
func (a *Agents) cancel(ctx context.Context, id, who string) (Run, error) {
	asked, first := false, false
	run, err := a.change(ctx, id, func(_ project.Tx, run *Run) error {
		asked, first = true, run.CancelledBy == ""
		run.CancelledBy = cmp.Or(run.CancelledBy, who)
		return nil
	})
	switch {
	case err != nil || !asked:
		return Run{}, err
	case !first || run.State == core.AgentInitializing:
		return run, nil // a supervisor that is about to begin takes a signal for its end
	}
	// Its supervisor looks each second; a signal only saves that time.
	if l, known, err := a.liveOf(ctx, id); err == nil && known && l.Supervisor.PID != 0 {
		_ = l.Supervisor.Signal(syscall.SIGTERM)
	}
	return run, nil
}

// cancelBelow asks all that an agent started, at any depth, to stop.
func (a *Agents) cancelBelow(ctx context.Context, id, who string) (stopped []Run, err error) {
	all, err := a.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, target := range family(all, id)[1:] {
		run, err := a.cancel(ctx, target, who)
		if err != nil {
			return stopped, err
		}
		if run.ID != "" {
			stopped = append(stopped, run)
		}
	}
	return stopped, nil
}

// family gives an agent's id with those of all below it.
func family(all []Run, id string) []string {
	ids := []string{id}
	for i := 0; i < len(ids); i++ {
		for _, run := range all {
			if run.ParentAgent == ids[i] && !slices.Contains(ids, run.ID) {
				ids = append(ids, run.ID)
			}
		}
	}
	return ids
}

// Below gives the agents that one started, at any depth, the newest first; all of
// the project's for an empty id.
func (a *Agents) Below(ctx context.Context, id string) ([]Run, error) {
	all, err := a.List(ctx)
	if err != nil || id == "" {
		return all, err
	}
	run, err := a.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	below := family(all, run.ID)[1:]
	return slices.DeleteFunc(all, func(run Run) bool { return !slices.Contains(below, run.ID) }), nil
}

// Filter gives those of the agents that run, or that have ended; all for another
// word.
func Filter(all []Run, which string) []Run {
	switch which {
	case "running":
		return slices.DeleteFunc(slices.Clone(all), func(run Run) bool { return run.State.Ended() })
	case "ended":
		return slices.DeleteFunc(slices.Clone(all), func(run Run) bool { return !run.State.Ended() })
	}
	return all
}

func (a *Agents) liveOf(ctx context.Context, id string) (l live, known bool, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		known, err = recordLive.Load(tx, id, &l)
		return err
	})
	return l, known, err
}

// Running gives the agents that something is still to be done about.
func (a *Agents) Running(ctx context.Context) (runs []Run, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		ids, err := recordLive.IDs(tx)
		for _, id := range ids {
			var run Run
			if _, err := recordRun.Load(tx, id, &run); err != nil {
				return err
			}
			runs = append(runs, run)
		}
		return err
	})
	return runs, err
}

// waitPace is how often a waiting caller looks.
const waitPace = 100 * time.Millisecond

// Wait gives the record of an agent once it is final and its frame has ended, or as
// it is when ctx ends. It tells progress each time it looks.
func (a *Agents) Wait(ctx context.Context, id string, progress func(Run)) (Run, error) {
	tick := time.NewTicker(waitPace)
	defer tick.Stop()
	for looks := 1; ; looks++ {
		if looks%20 == 0 { // its supervisor may be killed meanwhile
			if err := a.Recover(context.WithoutCancel(ctx)); err != nil {
				a.Project.Log.Warn("agents could not be recovered", "error", err)
			}
		}
		run, err := a.Find(context.WithoutCancel(ctx), id)
		if err != nil {
			return run, err
		}
		if run.State.Ended() {
			return run, a.settle(context.WithoutCancel(ctx), run)
		}
		progress(run)
		select {
		case <-ctx.Done():
			return run, nil
		case <-tick.C:
		}
	}
}

// settle does what is left to do about an agent that is final: its supervisor may be
// at it still, or be gone.
func (a *Agents) settle(ctx context.Context, run Run) error {
	_, left, err := a.liveOf(ctx, run.ID)
	if err != nil || !left {
		return err
	}
	return a.finish(ctx, run)
}

// How long an agent may be without a supervisor after it was asked for, in ms: while
// whoever asked for it lives, and when that was killed.
const (
	startPatience   = core.Millis(30_000)
	starterPatience = core.Millis(3_000)
)

// watched reports whether an agent has, or may yet get, a supervisor that lives.
func (l live) watched(now core.Millis) bool {
	switch {
	case !l.Supervisor.Here() || !l.Starter.Here():
		return now-max(l.Since, l.Told) < elsewherePatience
	case l.Supervisor.PID != 0:
		return l.Supervisor.Alive()
	case l.Starter.Alive():
		return now-l.Since < startPatience
	}
	return now-l.Since < starterPatience
}

// elsewherePatience is how long an agent is left alone that another container
// started: from here nobody sees whether its supervisor lives.
const elsewherePatience = core.Millis(6 * 3_600_000)

// Recover puts right what killed processes left: agents whose supervisor is gone
// end as it left word, or are orphaned and the rest of their processes ended;
// frames of final ones are ended. While nothing runs it only reads.
func (a *Agents) Recover(ctx context.Context) error {
	all := map[string]live{}
	err := a.Project.Store.View(ctx, func(tx project.Tx) error {
		return recordLive.Each(tx, func(id string, l live) error {
			all[id] = l
			return nil
		})
	})
	if err != nil {
		return err
	}
	var recovered sync.WaitGroup
	errs := make(chan error, len(all))
	for id, l := range all {
		if !l.watched(a.Project.Now()) {
			// At one time: each may have to wait for processes to end.
			recovered.Go(func() { errs <- a.recover(ctx, id, l.Supervisor.PID != 0) })
		}
	}
	recovered.Wait()
	close(errs)
	for failed := range errs {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, a.resume(ctx, all))
}

// resume lets sessions go on that handed control to agents which are over: whoever
// was to resolve the handoff was killed.
func (a *Agents) resume(ctx context.Context, running map[string]live) error {
	suspended, err := a.Project.Suspended(ctx)
	if err != nil {
		return err
	}
	for session, agent := range suspended {
		if _, runs := running[agent]; runs {
			continue
		}
		if run, err := a.Find(ctx, agent); err == nil && a.Project.Now()-run.EndedAt < claim {
			continue // the handoff may be about to be resolved
		}
		if err := a.Project.Resume(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// recover ends an agent that nobody watches over.
func (a *Agents) recover(ctx context.Context, id string, begun bool) error {
	run, err := a.Find(ctx, id)
	if err != nil {
		return err
	}
	if run.State.Ended() {
		return a.finish(ctx, run)
	}
	supervise.KillRest(id, a.Folder(id))
	outcome, known, err := supervise.LoadOutcome(a.Folder(id))
	if !known || err != nil {
		outcome = a.orphaned(run, begun)
	}
	return a.end(ctx, id, outcome)
}

// orphaned is what an agent came to whose supervisor told nothing: what its output
// tells.
func (a *Agents) orphaned(run Run, begun bool) supervise.Outcome {
	o := supervise.Outcome{State: core.AgentOrphaned, Reason: "its supervisor was killed", Partial: true, StartedAt: run.CreatedAt, EndedAt: a.Project.Now(), Progress: run.Progress}
	switch {
	case run.CancelledBy != "":
		o.State, o.Reason = core.AgentCancelled, "cancelled by "+run.CancelledBy
	case !begun:
		o.State, o.Reason = core.AgentError, "its supervisor never began"
	}
	if told, text := supervise.Reread(a.Folder(run.ID), lineOf(run.Host)); told.Session != "" {
		o.Progress, o.Text = told, text
		o.Progress.Attempt = run.Progress.Attempt
	}
	return o
}
