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
			recovered.Go(func() { errs <- a.recover(ctx, id, l.Supervisor) })
		}
	}
	recovered.Wait()
	close(errs)
	for failed := range errs {
		err = errors.Join(err, failed)
	}
	return errors.Join(err, handoff.ReleaseSessions(ctx, a.Project, all))
}

// recover ends an agent that nobody watches over.
func (a *Agents) recover(ctx context.Context, id string, by supervise.Process) error {
	run, err := a.Find(ctx, id)
	if err != nil {
		return err
	}
	if run.State.Ended() {
		return a.finish(ctx, run)
	}
	supervise.KillRest(id, a.Folder(id))
	if run.Elsewhere() {
		if following, err := followAgain(ctx, a, run, by); following || err != nil {
			return err
		}
	}
	outcome, known, err := supervise.LoadOutcome(a.Folder(id))
	if !known || err != nil {
		outcome = orphaned(run, by.PID != 0, a.Project.Now())
		if told, text := supervise.Reread(a.Folder(id), run.SpentUSD, a.Hosts.Of(run.Host).Prints.Reader()); told.Session != "" {
			told.Attempt = run.Progress.Attempt
			if run.Progress.Metered {
				told = told.MeteredAs(run.Progress)
			}
			outcome.Progress, outcome.Text = told, text
		}
	}
	return a.end(ctx, id, outcome)
}

// orphaned returns what an agent came to whose supervisor told nothing.
func orphaned(run record.Run, begun bool, now core.Millis) supervise.Outcome {
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
