package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/guard"
	"flame/hosts"
	"flame/intake"
	"flame/project"
	"flame/project/place"
	"flame/project/sweep"
	"flame/tools"
	"flame/tools/transport"
)

func newServe(a *app.App) *cobra.Command {
	var at listenAt
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the MCP server, as hosts do", Example: "  flame serve\n  flame serve --http 127.0.0.1:7070",
		Long: "Run the MCP server: on stdin and stdout, or with --http as streamable HTTP at /mcp\n" +
			"and server-sent events at /sse, with metrics for Prometheus at /metrics. Clients\n" +
			"over HTTP send a bearer token: " + env.HTTPToken + ", else one that flame makes and\nkeeps in the project's data folder, as http-token.",
		Args: flags.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if at.noToken && at.addr == "" {
				return flags.Wrong(cmd, "--no-token needs --http")
			}
			if at.host != "" && at.addr != "" {
				return flags.Wrong(cmd, "--host needs a server on stdin and stdout, not --http")
			}
			return serving{a}.serve(cmd.Context(), at)
		},
	}
	cmd.Flags().StringVar(&at.addr, "http", "", "listen on this address instead of stdin and stdout")
	calling := lo.Filter(a.Hosts, func(h hosts.Host, _ int) bool { return h.Calls != nil })
	flags.Choose(cmd, &at.host, "host", "also take in the events that the hooks of this host report by calling the server", calling.Names()...)
	cmd.Flags().BoolVar(&at.noToken, "no-token", false, "require no token, on loopback only: other users of the machine can then connect")
	return cmd
}

// listenAt says where to serve.
type listenAt struct {
	addr    string // empty: stdin and stdout
	noToken bool
	host    string // whose hooks call; empty: none do
}

// sweepPace is how often a server does what is due and looks for others'
// changes (DESIGN §4).
const sweepPace = time.Second

// A serving is a running MCP server.
type serving struct{ app *app.App }

func (c serving) serve(ctx context.Context, listen listenAt) (err error) {
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	p, closeProject, err := c.app.Open(at, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeProject()) }()
	service, err := c.app.Agents(p, at)
	if err != nil {
		return err
	}
	offered, warning := offered(c.app, toolsOf(ctx, p, service))
	if warning != nil {
		c.app.Say(*warning)
	}
	if listen.addr != "" {
		p.HostProcess = nil // whoever runs it is not the host of its clients
	}
	srv := tools.NewServer(p, service, offered, c.app.Version, c.clients(listen.addr != ""))
	// A client that disappears must not end the process before its session's
	// end is recorded.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	background.Go(func() { keepSwept(ctx, p) })
	background.Go(func() { intake.Keep(ctx, c.app.Desk(p, at)) })
	background.Go(func() { watch(ctx, srv) })
	background.Go(func() { keepRecovered(ctx, service) })
	background.Go(func() { keepKnown(ctx, at.Data, p.Log) })
	if c.app.KeepHub != nil {
		background.Go(func() { c.app.KeepHub(ctx, p, at) })
	}
	defer background.Wait()
	defer stop()
	if listen.addr == "" {
		err := transport.ServeStdio(ctx, srv.MCP, srv.Writes, c.aside(p, at, listen.host), c.app.Stdin, c.app.Stdout)
		endSoon(c.app)
		srv.EndServed(ctx)
		return err
	}
	opts := transport.HTTPOptions{Writes: srv.Writes, Logger: p.Log, Metrics: tools.NewMetrics(p, service)}
	return c.serveHTTP(ctx, srv, at.Data, listen, opts)
}

// aside returns the tool that the hooks of a host call; none for no host.
func (c serving) aside(p *project.Project, at place.Place, name string) transport.Aside {
	host, known := c.app.Hosts.Find(name)
	if !known {
		return transport.Aside{}
	}
	events := *p
	events.Transcripts = nil // counting usage would keep the host waiting
	caller := intake.Caller{
		Desk: c.app.Desk(&events, at), Host: host, Agent: os.Getenv(core.AgentVariable), Off: c.app.Settings.Off,
		Worktree: func(folder string) string { return app.WorktreeOf(at, folder) },
	}
	return transport.Aside{Tool: host.Calls.Tool, Model: host.CallID, Answer: caller.Answer}
}

func (c serving) serveHTTP(ctx context.Context, srv *tools.Server, data *place.Folder, listen listenAt, opts transport.HTTPOptions) error {
	guarding, said, err := c.guard(ctx, data, listen)
	if err != nil {
		return asProblem(err)
	}
	opts.Guard = guarding
	opts.Listening = func(at net.Addr) {
		fmt.Fprintf(c.app.Stderr, "[flame] %s\n[flame] listening on http://%s/mcp\n", core.OneLine(said, 2000), at)
	}
	return transport.ServeHTTP(ctx, srv.MCP, opts)
}

// guard returns the guard of a server, which requires a token unless that is
// turned off, and what to say about it.
func (c serving) guard(ctx context.Context, data *place.Folder, listen listenAt) (g *guard.Guard, said string, err error) {
	switch {
	case listen.noToken:
		g, err = guard.WithoutToken(listen.addr)
		return g, "no token is required: other users of this machine can connect", err
	case c.app.Settings.HTTPToken != "":
		g, err = guard.New(listen.addr, c.app.Settings.HTTPToken)
		return g, "the token is that of " + env.HTTPToken, err
	}
	if _, err := data.Ready(ctx, true); err != nil {
		return nil, "", err
	}
	file := filepath.Join(data.Path, "http-token")
	token, err := guard.KeptToken(file)
	if err != nil {
		return nil, "", err
	}
	g, err = guard.New(listen.addr, token)
	return g, "the token is in " + file, err
}

// asProblem returns an error of guard as one that is shown with its hint.
func asProblem(err error) error {
	var problem *guard.Problem
	switch {
	case !errors.As(err, &problem):
		return err
	case problem.Cause != nil:
		return core.Unavailablef(problem.Cause, "%s", problem.Message).WithHint("%s", problem.Hint)
	}
	return core.Invalidf("%s", problem.Message).WithHint("%s", problem.Hint)
}

// toolsOf returns the tools that whoever this process works for may have.
func toolsOf(ctx context.Context, p *project.Project, service *agents.Agents) []tools.Tool {
	guest, err := agents.IsGuest(ctx, p.Store, os.Getenv(core.AgentVariable))
	if err != nil {
		p.Log.Warn("whom an agent works for could not be read; it gets the tools of another machine's", "error", err)
	}
	if guest || err != nil {
		return tools.ForGuests(p, service)
	}
	return tools.All(p, service)
}

// offered returns those of all tools that are in the profile FLAME_TOOLS, or all with a
// warning if there is no such profile.
func offered(a *app.App, all []tools.Tool) ([]tools.Tool, *config.Warning) {
	chosen, err := tools.Select(all, a.Settings.Tools)
	if err != nil {
		return all, &config.Warning{Variable: env.Tools, Value: a.Settings.Tools, Default: "all", Err: err}
	}
	return chosen, nil
}

func keepSwept(ctx context.Context, p *project.Project) {
	tick := time.NewTicker(sweepPace)
	defer tick.Stop()
	started := time.Now()
	sweep.Run(ctx, p, tick.C, func() time.Duration { return time.Since(started) })
}

// recoverPace is how often a server looks for agents without a supervisor.
const recoverPace = 3 * time.Second

func keepRecovered(ctx context.Context, service *agents.Agents) {
	tick := time.NewTicker(recoverPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := service.Recover(ctx); err != nil && ctx.Err() == nil {
			service.Project.Log.Warn("agents could not be recovered", "error", err)
		}
	}
}

// When a server checks whether the repository has got a first commit since its
// data was made: not while its host waits for it, and rarely.
const (
	knownFirst = 10 * time.Second
	knownPace  = 10 * time.Minute
)

func keepKnown(ctx context.Context, data *place.Folder, log *slog.Logger) {
	for pause := time.After(knownFirst); ; pause = time.After(knownPace) {
		select {
		case <-ctx.Done():
			return
		case <-pause:
		}
		if err := data.NoteFirstCommit(ctx); err != nil && ctx.Err() == nil {
			log.Warn("the repository's first commit was not recorded", "error", err)
		}
	}
}

func watch(ctx context.Context, srv *tools.Server) {
	tick := time.NewTicker(sweepPace)
	defer tick.Stop()
	srv.Watch(ctx, tick.C)
}

// clients returns who calls if no hook says so: the session of an HTTP client,
// else the one that the host started the server for, else one for this process
// (DESIGN §4). An agent's own session is known by the process it lives in.
func (c serving) clients(http bool) func(context.Context) project.Caller {
	own := c.app.Session
	if own == "" {
		own = c.app.Hosts.Session(os.Getenv)
	}
	agent := os.Getenv(core.AgentVariable)
	if own == "" && agent == "" {
		own = project.NewID("server")
	}
	return func(ctx context.Context) project.Caller {
		session := server.ClientSessionFromContext(ctx)
		by := project.Caller{Session: own, Agent: agent, Host: hostOf(session)}
		if http && session != nil {
			by.Session = session.SessionID()
		}
		return by
	}
}

// hostOf returns the name that a client calls itself, or flame's name for a
// known host.
func hostOf(session server.ClientSession) string {
	if known, ok := session.(server.SessionWithClientInfo); ok {
		return known.GetClientInfo().Name
	}
	return ""
}
