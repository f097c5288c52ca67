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
	"flame/agents/away"
	"flame/agents/carry"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/hub"
	"flame/hub/queue"
	"flame/project"
)

// A Worker runs agents that other machines ask for.
type Worker struct {
	Agents *agents.Agents
	Data   string     // data folder of the project, whose hub.json says where the hub is
	Queue  string     // the queue that it serves
	Slots  int        // how many agents it runs at a time
	Most   hosts.Mode // no agent works in a wider one
	Repos  []string   // patterns of the remotes that agents may work in
	Log    *slog.Logger
	Say    func(format string, args ...any) // tells whoever runs it what it does

	line line
	busy atomic.Int64 // slots that run an agent
}

// Run serves the queue until ctx ends; then agents that run are cancelled, and their ends
// are told.
func (w *Worker) Run(ctx context.Context) error {
	w.line.Data = w.Data
	defer w.line.close()
	if _, err := w.line.queue(ctx); err != nil {
		return err // who starts it should see that
	}
	w.Say("serving queue %s with %d slots, up to mode %s; Ctrl-C ends", w.Queue, w.Slots, w.Most)
	w.line.Told = w.sayAway
	over := make(chan struct{})
	var slots, beside sync.WaitGroup
	beside.Go(func() { w.line.present(ctx, over, func() hub.Served { return w.serves(ctx) }) })
	beside.Go(func() { w.tidy(ctx) })
	for range w.Slots {
		slots.Go(func() { w.serve(ctx) })
	}
	slots.Wait()
	close(over)
	beside.Wait()
	return nil
}

// keepMirrors is for how long a worker keeps a repository that no agent uses.
const keepMirrors = 30 * 24 * time.Hour

// tidy removes repositories that no agent has used for long.
func (w *Worker) tidy(ctx context.Context) {
	if n, err := w.mirrors().RemoveIdle(ctx, time.Now().Add(-keepMirrors)); n > 0 || err != nil {
		w.Log.Info("repositories that no agent has used for long are removed", "removed", n, "error", err)
	}
}

// sayAway says that the hub is away, or back.
func (w *Worker) sayAway(err error) {
	if err != nil {
		w.Say("the hub is away, agents that run go on: %v", err)
		return
	}
	w.Say("the hub is back")
}

// serves returns what others should know. Once ctx has ended, it takes no more.
func (w *Worker) serves(ctx context.Context) hub.Served {
	s := hub.Served{Queue: w.Queue, Slots: w.Slots}
	if ctx.Err() == nil {
		s.Free = w.Slots - int(w.busy.Load())
	}
	return s
}

// mostAtOnce bounds how many agents of a queue run at a time, on all its workers: their slots
// are to decide.
const mostAtOnce = 1_000

// serve runs one agent after the other.
func (w *Worker) serve(ctx context.Context) {
	for ctx.Err() == nil {
		var lease queue.Lease
		var job queue.Job
		err := w.line.lasting(ctx, func(q *queue.Queue) (err error) {
			lease, job, err = q.Next(ctx, w.Queue, mostAtOnce)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.Log.Warn("the queue cannot be served", "queue", w.Queue, "error", err)
			w.Say("the queue cannot be served: %v", err)
			select {
			case <-ctx.Done():
			case <-time.After(longestWait):
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
	work, err := away.Read(job.Body)
	if err == nil && work.ID != job.ID {
		err = core.Invalidf("what is to be done is another agent's")
	}
	if err == nil {
		w.Say("%s: %s, asked for by %s", job.ID, core.OneLine(work.Description, 80), job.Asker)
		err = h.begin(ctx, work, job.Asker)
	}
	var report away.Report
	if err == nil {
		report, err = h.follow(ctx)
	}
	switch {
	case errors.Is(err, queue.ErrFenced):
		w.Say("%s: another worker has it now", job.ID)
		return
	case err != nil:
		report.Outcome = refusal(err)
	}
	if err := h.end(ctx, report); err != nil {
		w.Say("%s: %s, but that could not be told: %v", job.ID, report.Outcome.State, err)
		w.Log.Warn("the end of an agent was not told", "agent", job.ID, "error", err)
		return
	}
	w.Say("%s: %s", job.ID, report.Outcome.State)
}

// refusal is the outcome of an agent that was not begun.
func refusal(why error) *supervise.Outcome {
	if errors.Is(why, errStopped) {
		return &supervise.Outcome{State: core.AgentCancelled, Reason: "cancelled before it began", Partial: true}
	}
	o := &supervise.Outcome{State: core.AgentError, Reason: "the worker did not begin it", Error: core.OneLine(why.Error(), 1000), Partial: true}
	var problem *core.Problem
	if errors.As(why, &problem) && problem.Hint != "" {
		o.Error += " (" + core.OneLine(problem.Hint, 500) + ")"
	}
	return o
}

// A held is a job that this worker holds.
type held struct {
	*Worker
	lease  queue.Lease
	holder *queue.Holder
	of     *queue.Queue // whose holder it is
	agent  string       // id of the agent here, once it is begun
	base   *carry.Base  // where it began from; nil: it works in an empty folder
}

// with calls f with the holder of the job, by the connection that there is.
func (h *held) with(ctx context.Context, f func(*queue.Holder) error) error {
	q, err := h.line.queue(ctx)
	if err != nil {
		return err
	}
	if q != h.of {
		if h.holder != nil {
			h.lease = h.holder.Lease()
		}
		h.holder, h.of = q.Hold(h.lease), q
	}
	return f(h.holder)
}

// begin starts the agent, and says so again and again while that takes its time.
func (h *held) begin(ctx context.Context, work away.Work, asker string) error {
	err := h.beating(ctx, away.Report{}, 0, func(ctx context.Context) error { return h.takeOn(ctx, work, asker) })
	if errors.Is(err, queue.ErrFenced) {
		err = errors.Join(err, h.cancel(context.WithoutCancel(ctx)))
	}
	return err
}

// lookPace is how often a worker tells of an agent, and asks what it is to do. Cancelling
// one takes at most a second (DESIGN §13).
const lookPace = 500 * time.Millisecond

// follow tells how far the agent is until it has ended, and returns how.
func (h *held) follow(ctx context.Context) (r away.Report, err error) {
	lasting := context.WithoutCancel(ctx)
	printing, stop := context.WithCancel(lasting)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	id, attempt := h.lease.Job, h.lease.Attempt
	beside.Go(func() { h.print(printing, id, attempt) })
	beat := time.NewTicker(lookPace)
	defer beat.Stop()
	done := ctx.Done()
	for {
		now, state, err := agents.ReportOf(lasting, h.Agents, h.agent)
		switch {
		case err != nil: // the store is busy or its disk full; the agent goes on meanwhile
			h.Log.Warn("how far an agent is could not be read", "agent", h.agent, "error", err)
		case state.Ended():
			return now, nil
		default:
			r = now
		}
		order, err := h.beat(lasting, r)
		if errors.Is(err, queue.ErrFenced) {
			return r, errors.Join(err, h.cancel(lasting))
		}
		if err != nil && !errors.Is(err, core.ErrUnavailable) {
			h.Log.Warn("the hub was not told how far an agent is", "agent", h.agent, "error", err)
		}
		if order.Cancel || ctx.Err() != nil {
			if err := h.cancel(lasting); err != nil {
				h.Log.Warn("an agent could not be cancelled; it is tried again", "agent", h.agent, "error", err)
			}
		}
		select {
		case <-done:
			done = nil
		case <-beat.C:
		}
	}
}

// beat tells how far the agent is, and returns what it is to do.
func (h *held) beat(ctx context.Context, r away.Report) (order queue.Order, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return order, err
	}
	err = h.with(ctx, func(holder *queue.Holder) error {
		order, err = holder.Beat(ctx, body)
		return err
	})
	return order, err
}

// cancel stops the agent.
func (h *held) cancel(ctx context.Context) error {
	if h.agent == "" {
		return nil // it was not begun
	}
	_, err := h.Agents.Cancel(ctx, project.Caller{Host: project.CommandLine}, h.agent)
	return err
}

// endTime bounds how long the end of an agent is kept to be told, while no hub answers.
const endTime = 24 * time.Hour

// giveTime is how long giving back what an agent changed may take once it is cancelled: its
// patch has the same.
const giveTime = time.Second

// end tells how the agent ended. The end of ctx hastens it.
func (h *held) end(ctx context.Context, r away.Report) error {
	lasting, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer stop()
	before := r // as far as it is until its end is told
	before.Outcome, before.Changes = nil, nil
	err := h.beating(ctx, before, giveTime, func(ctx context.Context) error {
		if err := h.giveBack(ctx, &r); err != nil {
			h.Log.Warn("what an agent changed could not be pushed; its patch has it", "agent", h.agent, "error", err)
		}
		return h.leave(lasting, &r)
	})
	if errors.Is(err, queue.ErrFenced) {
		return err
	}
	if err != nil { // its end is told all the same
		r.Outcome.Error = core.OneLine(fmt.Sprintf("%s; not all that it left could be kept: %v", r.Outcome.Error, err), 1000)
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("the end of %s: %w", h.lease.Job, err)
	}
	return h.line.lasting(lasting, func(*queue.Queue) error {
		return h.with(lasting, func(holder *queue.Holder) error { return holder.End(lasting, body) })
	})
}

// errStopped is why what a worker does for an agent is ended.
var errStopped = errors.New("it was cancelled, or its worker is stopped")

// beating calls f, which may take long, and says meanwhile that the job is still held, and
// that the agent is as far as r says. The context of f ends once another has the job, and so
// long after the agent is to be cancelled or ctx has ended. The errors of f are then those.
func (h *held) beating(ctx context.Context, r away.Report, grace time.Duration, f func(context.Context) error) error {
	lasting := context.WithoutCancel(ctx)
	inner, stop := context.WithCancelCause(lasting)
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
			order, err := h.beat(lasting, r)
			if errors.Is(err, queue.ErrFenced) {
				fenced = err
				stop(err)
			} else if order.Cancel {
				soon()
			}
		}
	}
}
