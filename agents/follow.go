package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"flame/agents/away"
	"flame/agents/carry"
	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
	"flame/whole"
)

// follow is Supervise for an agent that runs on another machine: it has a worker do the
// work, and keeps what that tells as a supervisor would.
func follow(ctx context.Context, a *Agents, run record.Run, log *slog.Logger) error {
	lasting := context.WithoutCancel(ctx)
	if err := reach(a.Elsewhere); err != nil {
		return errors.Join(err, a.unstarted(lasting, run.ID, err))
	}
	f := &follower{
		a: a, journal: journal{a, run.ID}, run: run, log: log, seen: make(chan Sight), printed: make(chan Piece), since: time.Now(),
	}
	if err := f.journal.Begin(lasting, supervise.Self()); err != nil {
		return err
	}
	work, err := f.unlessStopped(ctx)
	switch {
	case err != nil && f.stop.Stop != "":
		return f.journal.End(lasting, f.over(f.stop.Stop, f.stop.Reason))
	case err != nil:
		return errors.Join(err, a.unstarted(lasting, run.ID, err))
	}
	return f.journal.End(lasting, f.outcome(ctx, work))
}

// A follower follows an agent that runs on another machine.
type follower struct {
	a       *Agents
	journal journal
	run     record.Run
	log     *slog.Logger
	seen    chan Sight
	printed chan Piece

	last   Sight
	active bool             // its journal was told that it runs
	stop   supervise.Orders // what ends it, once something does
	told   bool             // its worker knows
	by     time.Time        // when it is given up
	since  time.Time        // when it, or what is to be told next, was begun to be waited for
}

// unlessStopped returns what the agent is to do. Giving its base ends once the agent is to.
func (f *follower) unlessStopped(ctx context.Context) (w away.Work, err error) {
	lasting := context.WithoutCancel(ctx)
	giving, stop := context.WithCancel(lasting)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w, err = f.work(giving)
	}()
	tick := time.NewTicker(supervise.DefaultPace.Tell)
	defer tick.Stop()
	over := ctx.Done()
	for {
		select {
		case <-done:
			return w, err
		case <-over:
			over = nil
			f.signalled(lasting)
		case <-tick.C:
			f.look(lasting)
		}
		if f.stop.Stop != "" {
			stop()
		}
	}
}

// work returns what the agent is to do.
func (f *follower) work(ctx context.Context) (away.Work, error) {
	told, err := record.AssignmentOf(ctx, f.a.Project.Store, f.run.ID)
	if err != nil {
		return away.Work{}, err
	}
	def, err := f.a.launcher().DefinitionOf(f.run, told)
	if err != nil {
		return away.Work{}, err
	}
	w := away.Of(f.run, told, def)
	if f.run.Base == "" {
		return w, nil
	}
	if told.Base == nil { // else it was followed before
		if told.Base, err = f.give(ctx); err != nil {
			return w, err
		}
		err = f.a.Project.Store.Update(ctx, func(tx project.Tx) error { return record.Assignments.Save(tx, f.run.ID, told) })
	}
	if w.Base = told.Base; w.Base.Bundle {
		w.Bundle = f.bundle()
	}
	return w, err
}

// bundle is the name of the object that has the base, where that is a bundle.
func (f *follower) bundle() string { return f.run.ID + "-base" }

// give takes the state of the repository to where the worker can have it.
func (f *follower) give(ctx context.Context) (*carry.Base, error) {
	path := filepath.Join(f.a.Folder(f.run.ID), "base.bundle")
	bundle, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, core.Unavailablef(err, "could not write a bundle: %v", err)
	}
	defer os.Remove(path)
	defer bundle.Close()
	base, left, err := carry.Give(ctx, f.run.Cwd, f.run.ID, carry.Options{Bundle: bundle, Uncommitted: f.run.Uncommitted})
	if err != nil {
		return nil, err
	}
	if left > 0 {
		f.log.Info("files that are not committed stay here", "files", left)
	}
	if !base.Bundle {
		return &base, nil
	}
	if _, err := bundle.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return &base, f.a.Elsewhere.Leave(ctx, f.bundle(), bundle)
}

// outcome follows the agent to its end.
func (f *follower) outcome(ctx context.Context, w away.Work) supervise.Outcome {
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		errand := Errand{Queue: f.run.On, Retries: f.run.Retries, Work: w, Print: func(p Piece) { told(lasting, f.printed, p) }}
		err := f.a.Elsewhere.Run(lasting, errand, func(s Sight) { told(lasting, f.seen, s) })
		if err != nil && lasting.Err() == nil {
			told(lasting, f.seen, Sight{Over: true, Lost: core.OneLine(err.Error(), 500)})
		}
	}()
	tick := time.NewTicker(supervise.DefaultPace.Tell)
	defer tick.Stop()
	f.since = time.Now()
	done := ctx.Done()
	for {
		select {
		case s := <-f.seen:
			f.see(lasting, s)
			if f.last.Over {
				return f.ended(lasting)
			}
			f.look(lasting)
		case p := <-f.printed:
			if err := printoutOf(f.a, f.run).add(p); err != nil {
				f.log.Warn("what the agent prints could not be kept", "error", err)
			}
		case <-tick.C:
			f.look(lasting)
		case <-done:
			done = nil
			f.signalled(lasting)
		}
		if f.stop.Stop != "" && f.cancelled(lasting) {
			return f.over(f.stop.Stop, f.stop.Reason)
		}
	}
}

// see takes in how far the agent is. What it used so far grows, whatever its worker says.
func (f *follower) see(ctx context.Context, s Sight) {
	if s.Attempt > f.run.Attempt {
		f.anew(ctx, s.Attempt)
	}
	if before := f.last.Report.Progress; s.Report.Progress.Tokens() < before.Tokens() || s.Report.Progress.Cost() < before.Cost() {
		s.Report.Progress = before
	}
	f.last = s
}

// anew notes that a worker begins the agent. What the one before it used, if it was lost,
// counts on.
func (f *follower) anew(ctx context.Context, attempt int) {
	was := f.run
	size, err := printoutOf(f.a, was).size()
	if err != nil {
		f.log.Warn("what lost workers told of the agent's output could not be kept", "error", err)
	}
	run, err := record.Change(ctx, f.a.Project.Store, was.ID, func(_ project.Tx, run *record.Run) error {
		if run.Attempt > 0 {
			run.Lost = run.Progress.Used()
		}
		run.Attempt, run.Printed = attempt, size
		return nil
	})
	if err == nil && was.Attempt > 0 {
		lost := fmt.Sprintf("worker lost: %s was not heard of any more", was.Worker)
		err = f.journal.Retry(ctx, supervise.Retry{Attempt: attempt - 1, Reason: lost})
	}
	if err != nil {
		f.log.Warn("journal", "error", err)
		return
	}
	f.run, f.last, f.active = run, Sight{}, false
}

// total returns how far the agent is, with what lost attempts used.
func (f *follower) total(p supervise.Progress) supervise.Progress {
	p.Session = "" // it is one of the worker's machine
	p.Usage = p.Usage.Add(f.run.Lost)
	if p.TreeUSD > 0 {
		p.TreeUSD += f.run.Lost.CostUSD
	}
	p.Attempt = max(p.Attempt, f.run.Attempt-1)
	return p
}

// look tells the journal how far the agent is, and asks what is to end it.
func (f *follower) look(ctx context.Context) {
	p := f.total(f.last.Report.Progress)
	if !f.active && f.last.Report.Mode.Effective.Known() {
		f.active = f.begun(ctx, p) == nil
	}
	orders, err := f.journal.Tell(ctx, p)
	switch limit := f.run.Limits.Wall; {
	case err != nil:
		f.log.Warn("journal", "error", err)
	case f.stop.Stop != "":
	case orders.Stop != "":
		f.stop = orders
	case f.run.Lost != core.Usage{} && f.run.Limits.UsedUp(p) != "":
		f.stop = supervise.Orders{Stop: core.AgentError, Reason: f.run.Limits.UsedUp(p)}
	case limit > 0 && !f.last.Begun && time.Since(f.since) > limit:
		f.stop = supervise.Orders{Stop: core.AgentTimeout, Reason: fmt.Sprintf("no worker took it from the queue %s within %s", f.run.On, limit)}
	}
}

// signalled notes that a signal ends the agent, where the journal does not know why.
func (f *follower) signalled(ctx context.Context) {
	f.look(ctx)
	if f.stop.Stop == "" {
		f.stop = supervise.Orders{Stop: core.AgentCancelled, Reason: "stopped by a signal"}
	}
}

// begun keeps which machine has the agent, and in which mode.
func (f *follower) begun(ctx context.Context, p supervise.Progress) error {
	r := f.last.Report
	_, err := record.Change(ctx, f.a.Project.Store, f.run.ID, func(_ project.Tx, run *record.Run) error {
		run.Worker = r.Machine
		if r.Mode.Effective.Known() && !r.Mode.Effective.Exceeds(run.Mode.Effective) {
			run.Mode.Effective, run.Mode.CappedBy = r.Mode.Effective, r.Mode.CappedBy
		}
		return nil
	})
	if err == nil {
		err = f.journal.Active(ctx, p)
	}
	if err != nil {
		f.log.Warn("journal", "error", err)
	}
	return err
}

// cancelled has the worker stop the agent, and reports whether it is given up.
func (f *follower) cancelled(ctx context.Context) bool {
	if f.by.IsZero() {
		f.by = time.Now().Add(cancelTime)
	}
	if !f.told {
		err := f.a.Elsewhere.Cancel(ctx, f.run.ID, f.stop.Reason)
		if f.told = err == nil; err != nil {
			f.log.Warn("the worker was not told to stop", "error", err)
		}
	}
	if !time.Now().After(f.by) {
		return false
	}
	if !f.told {
		if err := owe(ctx, f.a, f.run.ID, f.stop.Reason); err != nil {
			f.log.Warn("the worker is not told to stop later either", "error", err)
		}
	}
	return true
}

// over is how an agent ended of which its worker told nothing.
func (f *follower) over(state core.AgentState, reason string) supervise.Outcome {
	o := supervise.Outcome{
		State: state, Reason: reason, Partial: true, Text: f.last.Report.Progress.Text, Progress: f.total(f.last.Report.Progress),
		StartedAt: f.run.CreatedAt, EndedAt: f.a.Project.Now(),
	}
	o.Progress.Text = ""
	if f.stop.Stop != "" && !f.told && f.last.Begun {
		o.Error = "the hub is away: its worker is told to stop once that is back"
	}
	return o
}

// ended is how an agent ended that is over, with what it left.
func (f *follower) ended(ctx context.Context) supervise.Outcome {
	s := f.last
	if !f.active {
		f.look(ctx)
	}
	if s.Lost != "" || s.Report.Outcome == nil {
		if f.stop.Stop != "" {
			return f.over(f.stop.Stop, f.stop.Reason)
		}
		return f.over(core.AgentError, cmp.Or(s.Lost, "its worker told nothing of its end"))
	}
	o := *s.Report.Outcome
	if p := s.Report.Progress; o.Tokens() < p.Tokens() || o.Cost() < p.Cost() {
		o.Progress = p
	}
	o.Progress = f.total(o.Progress)
	if f.stop.Stop != "" && o.State == core.AgentCancelled {
		o.State, o.Reason = f.stop.Stop, f.stop.Reason
	}
	dir := f.a.Folder(f.run.ID)
	err := errors.Join(
		f.fetchOutput(ctx, s.Report.Output),
		f.fetch(ctx, s.Report.Patch, filepath.Join(dir, changes.PatchFile), maxAwayPatch),
		f.keepChanges(ctx, s.Report.Changes))
	if err != nil {
		f.log.Warn("not all that the agent left could be fetched", "error", err)
		o.Error = core.OneLine(errors.Join(errors.New(o.Error), err).Error(), 500)
	}
	return o
}

// fetchOutput replaces what is known of the output by the whole of it.
func (f *follower) fetchOutput(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	return printoutOf(f.a, f.run).replace(func(to io.Writer) error { return f.a.Elsewhere.Fetch(ctx, name, to, maxAwayOutput) })
}

// fetch writes what the worker left under a name to a file.
func (f *follower) fetch(ctx context.Context, name, path string, most int64) error {
	if name == "" {
		return nil
	}
	return whole.Write(path, 0o600, func(to io.Writer) error { return f.a.Elsewhere.Fetch(ctx, name, to, most) })
}

// keepChanges keeps which files the agent changed.
func (f *follower) keepChanges(ctx context.Context, changed []changes.Change) error {
	_, err := record.Change(ctx, f.a.Project.Store, f.run.ID, func(_ project.Tx, run *record.Run) error {
		run.Changes = changed
		return nil
	})
	return err
}
