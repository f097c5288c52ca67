package agents

import (
	"context"
	"errors"
	"sync"

	"flame/agents/handoff"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
)

// Recover puts right what killed processes left: agents whose supervisor is gone
// end as it left word, or are orphaned and the rest of their processes ended;
// frames of final ones are ended. While nothing runs it only reads.
func (a *Agents) Recover(ctx context.Context) error {
	all := map[string]record.Live{}
	err := a.Project.Store.View(ctx, func(tx project.Tx) error {
		return record.Living.Each(tx, func(id string, l record.Live) error {
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
		if !l.Watched(a.Project.Now()) {
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
func (a *Agents) releaseSessions(ctx context.Context, running map[string]record.Live) error {
	suspended, err := a.Project.Suspended(ctx)
	if err != nil {
		return err
	}
	for session, agent := range suspended {
		if _, runs := running[agent]; runs {
			continue
		}
		if run, err := a.Find(ctx, agent); err == nil && (!run.State.Ended() || a.Project.Now()-run.EndedAt < handoff.ClaimTime) {
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
func (a *Agents) orphaned(run record.Run, begun bool) supervise.Outcome {
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

func (a *Agents) liveOf(ctx context.Context, id string) (l record.Live, known bool, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		known, err = record.Living.Load(tx, id, &l)
		return err
	})
	return l, known, err
}
