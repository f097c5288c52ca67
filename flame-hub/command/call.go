package command

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/record"
	"flame/cli/app"
	"flame/cli/wiring"
	"flame/core"
	"flame/flame-hub/client"
	"flame/flame-hub/worker"
	"flame/hub"
	"flame/local/place"
	"flame/project"
	"flame/project/transfer"
)

// newCall makes the command that flame starts for what needs a project's hub.
func newCall(a *app.App) *cobra.Command {
	return a.NeedsPlace(&cobra.Command{
		Use: "call", Short: "Do what flame asks for on stdin (flame starts this command itself)", Example: "  flame-hub call",
		Hidden: true, Args: app.CheckArgs(0, 0),
	}, func(ctx context.Context, at place.Place, _ []string) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var request hub.Request
		line, err := bufio.NewReader(io.LimitReader(a.Stdin, hub.MaxRequest)).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &request)
		}
		if err != nil {
			return core.Invalidf("the request cannot be read: %v", err)
		}
		go func() {
			_, _ = io.Copy(io.Discard, a.Stdin) // its end is the end of whoever asked
			stop()
		}()
		answer := hub.Answer{Version: a.Build.Version}
		answer.Fail(a.At(at, request.Do == hub.ToKeep, func(p *project.Project) error {
			p.HostProcess = nil // the process that starts this one is no host
			return do(ctx, a, p, at, request, &answer)
		}))
		return json.NewEncoder(a.Stdout).Encode(answer)
	})
}

// do does what was asked for.
func do(ctx context.Context, a *app.App, p *project.Project, at place.Place, r hub.Request, answer *hub.Answer) error {
	switch {
	case r.Do == hub.ToKeep:
		a.DisableDeadline() // it gives its claims back
		return client.Keep(ctx, keeping(a, p, at))
	case r.Do == hub.ToLook:
		return look(ctx, at, answer)
	case r.Do == hub.ToClaim && r.Frame != nil:
		return p.Claim(ctx, *r.Frame)
	case r.Do == hub.ToCancel:
		return a.Agents(p, at).Remote.Cancel(ctx, r.Agent, r.Why)
	}
	return core.Invalidf("flame-hub does not know the request %q", r.Do).WithHint("install flame and flame-hub of the same version")
}

// look connects, and says how the server is.
func look(ctx context.Context, at place.Place, answer *hub.Answer) error {
	link, err := hub.Load(at.Data.Path)
	if err != nil {
		return err
	}
	conn, err := client.Connect(ctx, link)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer.Server = conn.Version()
	answer.Latency, err = conn.Latency()
	return err
}

// machines are what a project does with its other machines, in this process.
type machines struct {
	worker.Requester
	app     *app.App
	project *project.Project
	at      place.Place
}

// Machines returns what a project does with its other machines.
func Machines(a *app.App, p *project.Project, at place.Place) wiring.Machines {
	return machines{worker.Requester{Client: hub.Client{Data: at.Data.Path}}, a, p, at}
}

// Claim claims a frame of another machine for this one.
func (m machines) Claim(ctx context.Context, frame core.Frame) error {
	return client.Claim(ctx, m.project, m.Data, frame)
}

// Keep keeps the project connected to the hub that it has joined, if any, until ctx ends.
func (m machines) Keep(ctx context.Context, log *slog.Logger) {
	hub.KeepJoined(ctx, m.Data, log, func(ctx context.Context) error { return client.Keep(ctx, keeping(m.app, m.project, m.at)) })
}

// keeping says how a project is kept connected.
func keeping(a *app.App, p *project.Project, at place.Place) client.Config {
	return client.Config{
		Data: at.Data.Path, Version: a.Build.Version, Log: p.Log, Now: p.Now,
		Tree: func(machine string) client.Tree { return transfer.SharedTree{Project: p, Machine: machine} },
		Held: func(ctx context.Context) ([]string, error) { return transfer.HeldFrames(ctx, p) },
		Agents: func(ctx context.Context) (json.RawMessage, error) {
			return project.Read(ctx, p, func(tx project.Tx) (json.RawMessage, error) { return record.LocalAgents(tx, p.Now()) })
		},
		Meet: func(ctx context.Context, there []string, news map[string]json.RawMessage) error {
			return record.SyncStates(ctx, p, there, news)
		},
		Beside: func(ctx context.Context) { agents.SendPending(ctx, a.Agents(p, at)) },
	}
}
