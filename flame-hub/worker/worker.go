package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"flame/agents"
	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/flame-hub/queue"
	"flame/hosts"
	"flame/hub"
	"flame/project"
)

// A Worker runs agents that other machines ask for.
type Worker struct {
	Agents *agents.Agents
	Data   string     // data folder of the project, whose hub.json says where the hub is
	Queue  string     // the queue that it serves
	Slots  int        // how many agents it runs at a time
	Most   hosts.Mode // the widest mode of an agent
	Repos  []string   // patterns of the remotes that agents may work in
	Log    *slog.Logger
	Say    func(format string, args ...any) // called with news for the person who runs it

	line line
	busy atomic.Int64 // slots that run an agent
}

// Run serves the queue until ctx ends. Then it cancels the agents that run and reports their
// ends.
func (w *Worker) Run(ctx context.Context) error {
	w.line.Data = w.Data
	defer w.line.close()
	if _, err := w.line.queue(ctx); err != nil {
		return err // the person who starts it should see it
	}
	w.Say("serving queue %s with %d slots, up to mode %s; Ctrl-C ends", w.Queue, w.Slots, w.Most)
	w.line.Told = w.sayAway
	over := make(chan struct{})
	var slots, beside sync.WaitGroup
	beside.Go(func() { w.line.present(ctx, over, func() hub.QueueStatus { return w.serves(ctx) }) })
	beside.Go(func() { w.tidy(ctx) })
	for range w.Slots {
		slots.Go(func() { w.serve(ctx) })
	}
	slots.Wait()
	close(over)
	beside.Wait()
	return nil
}

// keepMirrors is how long a worker keeps a repository that no agent uses.
const keepMirrors = 30 * 24 * time.Hour

// tidy removes repositories that no agent has used for long.
func (w *Worker) tidy(ctx context.Context) {
	if n, err := w.mirrors().RemoveIdle(ctx, time.Now().Add(-keepMirrors)); n > 0 || err != nil {
		w.Log.Info("removed repositories that no agent has used recently", "removed", n, "error", err)
	}
}

// sayAway reports that the hub is away, or back.
func (w *Worker) sayAway(err error) {
	if err != nil {
		w.Say("the hub is away, running agents continue: %v", err)
		return
	}
	w.Say("the hub is back")
}

// serves returns the worker's announcement. After the end of ctx it has no free slots.
func (w *Worker) serves(ctx context.Context) hub.QueueStatus {
	s := hub.QueueStatus{Queue: w.Queue, Slots: w.Slots}
	if ctx.Err() == nil {
		s.Free = w.Slots - int(w.busy.Load())
	}
	return s
}

// serve runs one agent after the other.
func (w *Worker) serve(ctx context.Context) {
	for ctx.Err() == nil {
		var lease queue.Lease
		var job queue.Job
		err := w.line.lasting(ctx, func(q *queue.Queue) (err error) {
			lease, job, err = q.Claim(ctx, w.Queue)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.Log.Warn("the worker cannot serve the queue", "queue", w.Queue, "error", err)
			w.Say("the worker cannot serve the queue: %v", err)
			select {
			case <-ctx.Done():
			case <-time.After(hub.LongestPause):
			}
		default:
			w.busy.Add(1)
			w.do(ctx, lease, job)
			w.busy.Add(-1)
		}
	}
}

// do runs the agent of a job to its end.
func (w *Worker) do(ctx context.Context, lease queue.Lease, job queue.Job) {
	h := &held{Worker: w, lease: lease}
	h.progress.Store(&record.Report{})
	work, err := record.ReadWork(job.Body)
	if err == nil && work.ID != job.ID {
		err = core.Invalidf("the job contains the work of another agent")
	}
	if err == nil {
		w.Say("%s: %s, asked for by %s", job.ID, core.OneLine(work.Description, 80), job.Asker)
		err = h.begin(ctx, work, job.Asker)
	}
	var report record.Report
	if err == nil {
		report, err = h.follow(ctx)
	}
	switch {
	case errors.Is(err, queue.ErrFenced):
		w.Say("%s: another worker runs it now", job.ID)
		return
	case err != nil:
		report.Outcome = refusal(err)
	}
	if err := h.end(ctx, report); err != nil {
		w.Say("%s: %s, but the worker could not report that: %v", job.ID, report.Outcome.State, err)
		w.Log.Warn("the end of an agent could not be reported", "agent", job.ID, "error", err)
		return
	}
	w.Say("%s: %s", job.ID, report.Outcome.State)
}

// refusal is the outcome of an agent that was not started.
func refusal(why error) *supervise.Outcome {
	if errors.Is(why, errStopped) {
		return &supervise.Outcome{State: core.AgentCancelled, Reason: "cancelled before it started", Partial: true}
	}
	o := &supervise.Outcome{State: core.AgentError, Reason: "the worker did not start it", Error: core.OneLine(why.Error(), 1000), Partial: true}
	var problem *core.Problem
	if errors.As(why, &problem) && problem.Hint != "" {
		o.Error += " (" + core.OneLine(problem.Hint, 500) + ")"
	}
	return o
}

// A held is a job that this worker holds.
type held struct {
	*Worker
	lease    queue.Lease
	agent    string                        // id of the agent on this machine, once it has started
	base     *changes.Base                 // the commit that it starts from; nil: it works in an empty folder
	progress atomic.Pointer[record.Report] // what the next beat reports
}

// begin starts the agent.
func (h *held) begin(ctx context.Context, work record.Task, asker string) error {
	err := h.beating(ctx, 0, func(ctx context.Context) error { return h.takeOn(ctx, work, asker) })
	if errors.Is(err, queue.ErrFenced) {
		err = errors.Join(err, h.cancel(context.WithoutCancel(ctx)))
	}
	return err
}

// lookPace is how often a worker reports on an agent and reads its orders. Cancelling an agent
// takes at most a second.
const lookPace = 500 * time.Millisecond

// follow reports the progress of the agent until it has ended, and returns its last report. The
// end of ctx cancels the agent.
func (h *held) follow(ctx context.Context) (r record.Report, err error) {
	lasting := context.WithoutCancel(ctx)
	err = h.beating(ctx, 0, func(ctx context.Context) error {
		look := time.NewTicker(lookPace)
		defer look.Stop()
		done := ctx.Done()
		for {
			now, state, err := agents.ReportOf(lasting, h.Agents, h.agent)
			switch {
			case err != nil: // the store is busy or its disk full; the agent continues meanwhile
				h.Log.Warn("the progress of an agent could not be read", "agent", h.agent, "error", err)
			case state.Ended():
				r = now
				return nil
			default:
				h.progress.Store(&now)
			}
			if ctx.Err() != nil {
				if err := h.cancel(lasting); err != nil {
					h.Log.Warn("an agent could not be cancelled; the worker tries again", "agent", h.agent, "error", err)
				}
			}
			select {
			case <-done:
				done = nil
			case <-look.C:
			}
		}
	})
	return r, err
}

// cancel stops the agent.
func (h *held) cancel(ctx context.Context) error {
	if h.agent == "" {
		return nil // it has not started
	}
	_, err := h.Agents.Cancel(ctx, project.Caller{Host: project.CommandLine}, h.agent)
	return err
}

// endTime bounds the retries of reporting an agent's end while no hub answers.
const endTime = 24 * time.Hour

// giveTime bounds the push of a cancelled agent's changes: its patch contains them too.
const giveTime = time.Second

// end reports how the agent ended. The end of ctx hastens it.
func (h *held) end(ctx context.Context, r record.Report) error {
	lasting, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer stop()
	before := r // the progress to report until the end is reported
	before.Outcome, before.Changes = nil, nil
	h.progress.Store(&before)
	err := h.beating(ctx, giveTime, func(ctx context.Context) error {
		if err := h.giveBack(ctx, &r); err != nil {
			h.Log.Warn("the changes of an agent could not be pushed; its patch contains them", "agent", h.agent, "error", err)
		}
		return h.leave(lasting, &r)
	})
	if errors.Is(err, queue.ErrFenced) {
		return err
	}
	if err != nil { // report the end anyway
		r.Outcome.Error = core.OneLine(fmt.Sprintf("%s; some of its results could not be stored: %v", r.Outcome.Error, err), 1000)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("the end of %s: %w", h.lease.Job, err)
	}
	return h.line.lasting(lasting, func(q *queue.Queue) error { return q.Finish(lasting, &h.lease, body) })
}

// errStopped is the cause that ends a worker's work for an agent.
var errStopped = errors.New("it was cancelled, or its worker was stopped")

// beating calls f, which may take long, and meanwhile reports to the hub that the worker still
// holds the job, with the agent's progress. The context of f ends when another worker has the job,
// or a grace after the agent is cancelled or ctx has ended; the error of f says which.
func (h *held) beating(ctx context.Context, grace time.Duration, f func(context.Context) error) error {
	inner, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	soon := sync.OnceFunc(func() { time.AfterFunc(grace, func() { stop(errStopped) }) })
	defer context.AfterFunc(ctx, soon)()
	done := make(chan error, 1)
	go func() { done <- f(inner) }()
	beat := time.NewTicker(lookPace)
	defer beat.Stop()
	var fenced error
	for {
		select {
		case err := <-done:
			if err != nil && errors.Is(context.Cause(inner), errStopped) {
				err = errors.Join(errStopped, err)
			}
			return errors.Join(fenced, err)
		case <-beat.C:
		}
		order, err := h.beat(context.WithoutCancel(ctx))
		switch {
		case errors.Is(err, queue.ErrFenced):
			fenced = err
			stop(err)
		case err != nil && !errors.Is(err, core.ErrUnavailable):
			h.Log.Warn("the progress of an agent could not be reported to the hub", "job", h.lease.Job, "error", err)
		case order.Cancel:
			soon()
		}
	}
}

// beat reports the progress of the agent, and returns the asker's order.
func (h *held) beat(ctx context.Context) (order queue.Command, err error) {
	body, err := json.Marshal(h.progress.Load())
	if err != nil {
		return order, err
	}
	q, err := h.line.queue(ctx)
	if err != nil {
		return order, err
	}
	return q.SendHeartbeat(ctx, &h.lease, body)
}
