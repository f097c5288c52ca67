package agents

import (
	"context"
	"errors"
	"sync"

	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

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
	return errors.Join(err, a.releaseSessions(ctx, all))
}

// releaseSessions lets sessions go on that handed control to agents which are over: whoever
// was to resolve the handoff was killed.
func (a *Agents) releaseSessions(ctx context.Context, running map[string]live) error {
	suspended, err := a.Project.Suspended(ctx)
	if err != nil {
		return err
	}
	for session, agent := range suspended {
		if _, runs := running[agent]; runs {
			continue
		}
		if run, err := a.Find(ctx, agent); err == nil && (!run.State.Ended() || a.Project.Now()-run.EndedAt < claim) {
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
	o := supervise.Outcome{
		State: core.AgentOrphaned, Reason: "its supervisor was killed", Partial: true,
		StartedAt: run.CreatedAt, EndedAt: a.Project.Now(), Progress: run.Progress,
	}
	switch {
	case run.CancelledBy != "":
		o.State, o.Reason = core.AgentCancelled, "cancelled by "+run.CancelledBy
	case !begun:
		o.State, o.Reason = core.AgentError, "its supervisor never began"
	}
	if told, text := supervise.Reread(a.Folder(run.ID), run.SpentUSD, a.Hosts.Of(run.Host).Prints.Reader()); told.Session != "" {
		o.Progress, o.Text = told, text
		o.Progress.Attempt = run.Progress.Attempt
	}
	return o
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
	case l.Starter == supervise.Self() || l.Starter.Alive():
		return now-l.Since < startPatience
	}
	return now-l.Since < starterPatience
}

// elsewherePatience is how long an agent is left alone that another container
// started: from here nobody sees whether its supervisor lives.
const elsewherePatience = core.Millis(6 * 3_600_000)

func (a *Agents) liveOf(ctx context.Context, id string) (l live, known bool, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		known, err = recordLive.Load(tx, id, &l)
		return err
	})
	return l, known, err
}
