package hubcmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/plan"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/sweep"
	"flame/worker"
)

// workerOptions are the flags of `flame worker`.
type workerOptions struct {
	queue string
	slots int
	most  hosts.Mode
	repos []string
}

// NewWorker makes `flame worker`.
func NewWorker(a *app.App) *cobra.Command {
	opts := workerOptions{most: hosts.AcceptEdits}
	cmd := &cobra.Command{
		Use: "worker", Short: "Run agents here that other machines ask for",
		Example: "  flame worker --queue gpu --slots 2 --max-mode acceptEdits --repos 'github.com/me/*'",
		Long: "Take agents out of a queue of the hub that this project has joined, and run them here,\n" +
			"with the hosts and the keys of whoever runs this command. Other machines put them there:\n" +
			"`flame agents spawn --on QUEUE`. What an agent may do is the narrower of what it may where\n" +
			"it was asked for and of --max-mode. Ctrl-C cancels what runs, and tells so.",
		Args: flags.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !plan.ValidQueue(opts.queue):
				return flags.Wrong(cmd, "--queue: name a queue, with letters, digits, - and _")
			case opts.slots < 1 || opts.slots > maxSlots:
				return flags.Wrong(cmd, "--slots is from 1 to %d", maxSlots)
			}
			return hubs{a}.work(cmd.Context(), opts)
		},
	}
	own := cmd.Flags()
	own.StringVar(&opts.queue, "queue", "default", "the queue to serve")
	own.IntVar(&opts.slots, "slots", 1, "how many agents to run at a time")
	flags.Choose(cmd, &opts.most, "max-mode", "the widest mode that agents work in", opts.most.Values()...)
	own.StringSliceVar(&opts.repos, "repos", nil, "repositories that agents may work in, such as github.com/me/* (default: this project's)")
	return cmd
}

// maxSlots bounds how many agents a worker runs at a time.
const maxSlots = 64

// work serves a queue until it is told to stop.
func (h hubs) work(ctx context.Context, opts workerOptions) error {
	at, err := h.app.Place()
	if err != nil {
		return err
	}
	return h.app.At(at, true, func(p *project.Project) error {
		service, err := h.app.Agents(p, at)
		if err != nil {
			return err
		}
		p.HostProcess = nil // this process is no host
		h.app.TakeTime()
		if len(opts.repos) == 0 {
			opts.repos = worker.OwnRepository(ctx, at.Worktree)
		}
		// What goes on beside the agents does so until the last of them has ended.
		lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
		var beside sync.WaitGroup
		defer beside.Wait()
		defer stop()
		if h.app.KeepHub != nil {
			beside.Go(func() { h.app.KeepHub(lasting, p, at) })
		}
		beside.Go(func() { keepInOrder(lasting, p, service) })
		var mu sync.Mutex
		w := &worker.Worker{
			Agents: service, Data: at.Data.Path, Queue: opts.queue, Slots: opts.slots, Most: opts.most, Repos: opts.repos, Log: p.Log,
			Say: func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				h.app.Note(fmt.Sprintf(format, args...))
			},
		}
		return w.Run(ctx)
	})
}

// orderPace is how often a worker does what is due, and looks for agents without a supervisor.
const orderPace = time.Second

// keepInOrder does what a server does beside serving, for a worker that may be the only
// process of flame on its machine.
func keepInOrder(ctx context.Context, p *project.Project, service *agents.Agents) {
	tick := time.NewTicker(orderPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := errors.Join(sweep.Once(ctx, p), service.Recover(ctx))
		if err != nil && ctx.Err() == nil && !errors.Is(err, core.ErrUnavailable) {
			p.Log.Warn("what was due could not be done", "error", err)
		}
	}
}
