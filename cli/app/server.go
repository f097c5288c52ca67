package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"flame/agents"
	"flame/hosts/intake"
	"flame/local/place"
	"flame/project"
	"flame/project/sweep"
)

// SweepPace is how often a long-lived process does due work and looks for changes by other
// processes.
const SweepPace = time.Second

// recoverPace is how often a long-lived process looks for agents without a supervisor.
const recoverPace = 3 * time.Second

// RunMaintenance does due work, stores events and recovers agents until ctx ends.
func (a *App) RunMaintenance(ctx context.Context, s *agents.Agents, at place.Place) *sync.WaitGroup {
	var background sync.WaitGroup
	background.Go(func() {
		tick := time.NewTicker(SweepPace)
		defer tick.Stop()
		started := time.Now()
		sweep.Run(ctx, s.Project, tick.C, func() time.Duration { return time.Since(started) })
	})
	background.Go(func() { intake.Run(ctx, a.EventHandler(s.Project, at)) })
	background.Go(func() {
		for range project.Every(ctx, recoverPace, recoverPace) {
			if err := s.Recover(ctx); err != nil && ctx.Err() == nil {
				s.Project.Log.Warn("agents could not be recovered", "error", err)
			}
		}
	})
	return &background
}

// StartServer starts `program serve` with these variables added to the environment
// and does the handshake as the client called name. The caller closes the
// client.
func StartServer(ctx context.Context, program string, env []string, name string) (*client.Client, error) {
	c, err := client.NewStdioMCPClient(program, env, "serve")
	if err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: name, Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
