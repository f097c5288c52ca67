package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/local/place"
	"flame/project"
)

// follow is Supervise for an agent that runs on another machine: a worker does the work, and
// follow stores its reports as a supervisor would.
func follow(ctx context.Context, a *Agents, run record.Agent, log *slog.Logger) error {
	lasting := context.WithoutCancel(ctx)
	if err := reach(a.Remote); err != nil {
		return errors.Join(err, a.unstarted(lasting, run.ID, err))
	}
	f := &follower{
		a: a, journal: journal{a, run.ID}, run: run, log: log, seen: make(chan RemoteProgress), since: time.Now(),
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

type follower struct {
	a       *Agents
	journal journal
	run     record.Agent
	log     *slog.Logger
	seen    chan RemoteProgress

	last   RemoteProgress
	active bool                // the journal says that it runs
	stop   supervise.Directive // the order that ends it, once there is one
	told   bool                // flame has told its worker to stop
	by     time.Time           // when flame stops waiting for the worker
	since  time.Time           // when the wait for it, or for the next report, began
}

// unlessStopped returns the agent's work. It stops sending the base once the agent must end.
func (f *follower) unlessStopped(ctx context.Context) (w record.Task, err error) {
	lasting := context.WithoutCancel(ctx)
	giving, stop := context.WithCancel(lasting)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w, err = f.work(giving)
	}()
	f.until(ctx, done, func() bool {
		if f.stop.Stop != "" {
			stop()
		}
		return false
	})
	return w, err
}

// until processes sights, reports to the journal, and records which order
// ends the agent, until done is closed or over returns true.
func (f *follower) until(ctx context.Context, done <-chan struct{}, over func() bool) {
	lasting, signal := context.WithoutCancel(ctx), ctx.Done()
	tick := time.NewTicker(supervise.DefaultPace.Tell)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case s := <-f.seen:
			if f.see(lasting, s); !s.Over {
				f.look(lasting)
			}
		case <-tick.C:
			f.look(lasting)
		case <-signal:
			signal = nil
			f.signalled(lasting)
		}
		if over() {
			return
		}
	}
}

func (f *follower) work(ctx context.Context) (record.Task, error) {
	told, err := record.AssignmentOf(ctx, f.a.Project, f.run.ID)
	if err != nil {
		return record.Task{}, err
	}
	def, err := f.a.planner().DefinitionOf(f.run, told)
	if err != nil {
		return record.Task{}, err
	}
	w := record.WorkOf(f.run, told, def)
	if f.run.Base == "" {
		return w, nil
	}
	if told.Base == nil { // otherwise a follower has run before
		base, err := changes.Export(ctx, f.run.Cwd, f.run.ID, nil)
		if err != nil {
			return w, err
		}
		told.Base = &base
		if err := f.a.Project.Store.Update(ctx, func(tx project.Tx) error { return record.Assignments.Save(tx, f.run.ID, told) }); err != nil {
			return w, err
		}
	}
	w.Base = told.Base
	return w, nil
}

func (f *follower) outcome(ctx context.Context, w record.Task) supervise.Outcome {
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		see := func(s RemoteProgress) {
			select {
			case f.seen <- s:
			case <-lasting.Done():
			}
		}
		err := f.a.Remote.Run(lasting, RemoteTask{Queue: f.run.Queue, Retries: f.run.Retries, Work: w}, see)
		if err != nil && lasting.Err() == nil {
			see(RemoteProgress{Over: true, Lost: core.OneLine(err.Error(), 500)})
		}
	}()
	f.since = time.Now()
	f.until(ctx, nil, func() bool { return f.last.Over || f.stop.Stop != "" && f.cancelled(lasting) })
	if f.last.Over {
		return f.ended(lasting)
	}
	return f.over(f.stop.Stop, f.stop.Reason)
}

// see processes a sight. The usage of the agent never shrinks, whatever its worker reports.
func (f *follower) see(ctx context.Context, s RemoteProgress) {
	if s.Attempt > f.run.Attempt {
		f.anew(ctx, s.Attempt)
	}
	if before := f.last.Report.Progress; s.Report.Progress.Tokens() < before.Tokens() || s.Report.Progress.Cost() < before.Cost() {
		s.Report.Progress = before
	}
	f.last = s
}

// anew records that another worker restarts the agent. The usage of a lost worker still
// counts.
func (f *follower) anew(ctx context.Context, attempt int) {
	was := f.run
	run, err := record.Change(ctx, f.a.Project.Store, was.ID, func(_ project.Tx, run *record.Agent) error {
		if run.Attempt > 0 {
			run.Lost = run.Progress.Used()
		}
		run.Attempt = attempt
		return nil
	})
	if err == nil && was.Attempt > 0 {
		lost := fmt.Sprintf("worker lost: %s stopped reporting", was.Worker)
		err = f.journal.Retry(ctx, supervise.Retry{Attempt: attempt - 1, Reason: lost})
	}
	if err != nil {
		f.log.Warn("journal", "error", err)
		return
	}
	f.run, f.last, f.active = run, RemoteProgress{}, false
}

// total returns the agent's progress, including the usage of lost attempts.
func (f *follower) total(p supervise.Progress) supervise.Progress {
	p.Session = "" // it is a session of the worker's machine
	p.Usage = p.Usage.Add(f.run.Lost)
	if p.TreeUSD > 0 {
		p.TreeUSD += f.run.Lost.CostUSD
	}
	p.Attempt = max(p.Attempt, f.run.Attempt-1)
	return p
}

// look writes the agent's progress to the journal, which says whether the agent must end.
func (f *follower) look(ctx context.Context) {
	p := f.total(f.last.Report.Progress)
	if !f.active && f.last.Report.Mode.Effective.Known() {
		f.active = f.begun(ctx, p) == nil
	}
	orders, err := f.journal.Report(ctx, p)
	switch limit := f.run.Limits.Wall; {
	case err != nil:
		f.log.Warn("journal", "error", err)
	case f.stop.Stop != "":
	case orders.Stop != "":
		f.stop = orders
	case f.run.Lost != core.Usage{} && f.run.Limits.UsedUp(p) != "":
		f.stop = supervise.Directive{Stop: core.AgentError, Reason: f.run.Limits.UsedUp(p)}
	case limit > 0 && !f.last.Begun && time.Since(f.since) > limit:
		f.stop = supervise.Directive{Stop: core.AgentTimeout, Reason: fmt.Sprintf("no worker took it from the queue %s within %s", f.run.Queue, limit)}
	}
}

// signalled records that a signal ends the agent, unless the journal knows another reason.
func (f *follower) signalled(ctx context.Context) {
	f.look(ctx)
	if f.stop.Stop == "" {
		f.stop = supervise.Directive{Stop: core.AgentCancelled, Reason: "stopped by a signal"}
	}
}

// begun records which machine runs the agent, and in which mode.
func (f *follower) begun(ctx context.Context, p supervise.Progress) error {
	r := f.last.Report
	_, err := record.Change(ctx, f.a.Project.Store, f.run.ID, func(_ project.Tx, run *record.Agent) error {
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

// cancelled tells the worker to stop the agent, and reports whether the follower stops waiting
// for it.
func (f *follower) cancelled(ctx context.Context) bool {
	if f.by.IsZero() {
		f.by = time.Now().Add(cancelTime)
	}
	if !f.told {
		err := f.a.Remote.Cancel(ctx, f.run.ID, f.stop.Reason)
		if f.told = err == nil; err != nil {
			f.log.Warn("could not tell the worker to stop", "error", err)
		}
	}
	if !time.Now().After(f.by) {
		return false
	}
	if !f.told {
		if err := owe(ctx, f.a, f.run.ID, f.stop.Reason); err != nil {
			f.log.Warn("could not record that the worker must still be told to stop", "error", err)
		}
	}
	return true
}

// over returns the outcome of an agent whose worker reported no end.
func (f *follower) over(state core.AgentState, reason string) supervise.Outcome {
	o := supervise.Outcome{
		State: state, Reason: reason, Partial: true, Text: f.last.Report.Progress.Text, Progress: f.total(f.last.Report.Progress),
		StartedAt: f.run.CreatedAt, EndedAt: f.a.Project.Now(),
	}
	o.Progress.Text = ""
	if f.stop.Stop != "" && !f.told && f.last.Begun {
		o.Error = "the hub cannot be reached: flame tells the worker to stop as soon as it can"
	}
	return o
}

// ended returns the outcome that the worker of an agent reported, and fetches the agent's
// files.
func (f *follower) ended(ctx context.Context) supervise.Outcome {
	s := f.last
	if !f.active {
		f.look(ctx)
	}
	if s.Lost != "" || s.Report.Outcome == nil {
		if f.stop.Stop != "" {
			return f.over(f.stop.Stop, f.stop.Reason)
		}
		return f.over(core.AgentError, cmp.Or(s.Lost, "its worker did not report its end"))
	}
	o := *s.Report.Outcome
	if p := s.Report.Progress; o.Tokens() < p.Tokens() || o.Cost() < p.Cost() {
		o.Progress = p
	}
	o.Progress = f.total(o.Progress)
	if f.stop.Stop != "" && o.State == core.AgentCancelled {
		o.State, o.Reason = f.stop.Stop, f.stop.Reason
	}
	_, err := record.Change(ctx, f.a.Project.Store, f.run.ID, func(_ project.Tx, run *record.Agent) error {
		run.Changes, run.Unread = s.Report.Changes, core.OneLine(s.Report.Unread, maxUnread)
		return nil
	})
	fetch := func(name, path string, most int64) error {
		if name == "" {
			return nil
		}
		return place.WriteAtomic(path, 0o600, func(to io.Writer) error { return f.a.Remote.Fetch(ctx, name, to, most) })
	}
	err = errors.Join(
		fetch(s.Report.Output, filepath.Join(f.a.Folder(f.run.ID), supervise.OutputFile), maxAwayOutput),
		fetch(s.Report.Patch, record.Patch(f.a.Data, f.run.ID), maxAwayPatch),
		err)
	if err != nil {
		f.log.Warn("could not fetch all files of the agent", "error", err)
		o.Error = core.OneLine(errors.Join(errors.New(o.Error), err).Error(), 500)
	}
	return o
}
