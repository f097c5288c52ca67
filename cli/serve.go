package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/hosts/intake"
	"flame/local/guard"
	"flame/local/place"
	"flame/project"
	"flame/render/board"
	"flame/tools"
	"flame/tools/transport"
)

func newServe(a *app.App) *cobra.Command {
	var to listenAt
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the MCP server, as hosts do", Example: "  flame serve\n  flame serve --http 127.0.0.1:7070",
		Long: "Run the MCP server: on stdin and stdout, or with --http as streamable HTTP at /mcp\n" +
			"and server-sent events at /sse, with metrics for Prometheus at /metrics. Clients\n" +
			"over HTTP send a bearer token: " + env.HTTPToken + ", else the token that flame makes and\nkeeps in http-token, in the project's data folder.",
		Args: app.CheckArgs(0, 0),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case to.noToken && to.addr == "":
				return app.NewUsageError(cmd, "--no-token needs --http")
			case to.check && to.addr == "":
				return app.NewUsageError(cmd, "--check needs --http")
			case to.host != "" && to.addr != "":
				return app.NewUsageError(cmd, "--host needs a server on stdin and stdout, not --http")
			}
			if _, err := tools.Select(nil, to.tools); err != nil {
				return app.NewUsageError(cmd, "--tools: %v", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to.addr, "http", "", "listen on this address instead of stdin and stdout")
	calling := lo.Filter(a.Hosts, func(h hosts.Host, _ int) bool { return h.Events.Tool != nil })
	app.EnumFlag(cmd, &to.host, "host", "also handle the events that this host's hooks report by calling the server", calling.Names()...)
	cmd.Flags().StringVar(&to.tools, "tools", "", "offer these tools unless "+env.Tools+" is set, which lists what there is")
	cmd.Flags().BoolVar(&to.check, "check", false, "serve nothing: only ask whether a server answers at the address of --http")
	cmd.Flags().BoolVar(&to.noToken, "no-token", false, "require no token (only on loopback): other users of this machine can then connect")
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, _ []string) error {
		if to.check {
			return answers(ctx, to.addr)
		}
		return serve(ctx, a, at, to)
	})
}

// answers asks a server over HTTP for anything: what it refuses without a token is an answer, too.
func answers(ctx context.Context, addr string) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		return core.Invalidf("%s is no address", addr)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return core.Unavailablef(err, "no server answers at %s", addr)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusInternalServerError {
		return core.Unavailablef(nil, "the server at %s answers %s", addr, answer.Status)
	}
	return nil
}

// listenAt says where to serve.
type listenAt struct {
	addr    string // empty: stdin and stdout
	noToken bool
	tools   string // profile, unless the user chose one
	check   bool   // only ask whether somebody listens there
	host    string // its hooks call the server; empty: no hooks do
}

func serve(ctx context.Context, a *app.App, at place.Place, to listenAt) (err error) {
	p, closeProject := a.Open(at, true)
	defer func() { err = errors.Join(err, closeProject()) }()
	service := a.Agents(p, at)
	offered, warning := offered(cmp.Or(os.Getenv(env.Tools), to.tools, a.Settings.Tools), toolsOf(ctx, service))
	if warning != nil {
		a.PrintNote(warning.String())
	}
	if to.addr != "" {
		p.HostProcess = nil // the process that starts this server is not the host of its clients
	}
	srv := tools.NewServer(p, service, offered, a.Build.Version, callers(ctx, a, p, to.addr != ""))
	if told := wide(at); told != "" && to.addr == "" {
		a.PrintNote(told)
		server.WithInstructions(tools.Instructions() + "\n- " + told)(srv.MCP)
	}
	// A client that disappears must not end the process before flame has recorded
	// the end of its session.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := context.WithCancel(ctx)
	background := a.RunMaintenance(ctx, service, at)
	background.Go(func() {
		tick := time.NewTicker(app.SweepPace)
		defer tick.Stop()
		srv.Watch(ctx, tick.C)
	})
	background.Go(func() { keepKnown(ctx, at.Data, p.Log) })
	if a.KeepHub != nil {
		background.Go(func() { a.KeepHub(ctx, p, at) })
	}
	defer background.Wait()
	defer stop()
	if to.addr != "" {
		return serveHTTP(ctx, a, srv, at.Data, to, transport.HTTPOptions{Writes: srv.Writes, Logger: p.Log, Metrics: tools.NewMetrics(p, service)})
	}
	err = transport.ServeStdio(ctx, srv.MCP, srv.Writes, aside(a, p, at, to.host), a.Stdin, a.Stdout, orphaned(ctx))
	status := exitOK // the client has its answers, however long the end takes
	if err != nil {
		status = exitError
	}
	endSoon(a, status)
	srv.EndSessions(ctx)
	return err
}

// orphanPace is how often a server looks whether the process that started it is there.
const orphanPace = 10 * time.Second

// orphaned returns a channel that says, again and again, that the process that started this one has
// ended. That may be the client, or a program that only started the server for it.
func orphaned(ctx context.Context) <-chan time.Time {
	parent, says := os.Getppid(), make(chan time.Time)
	go func() {
		for tick := time.Tick(orphanPace); ; {
			select {
			case now := <-tick:
				if os.Getppid() == parent {
					continue
				}
				select {
				case says <- now:
				case <-ctx.Done():
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return says
}

// wide says that a place is the home folder or above it, without a project: work in all projects
// below it would share one tree. It returns "" for any other place.
func wide(at place.Place) string {
	home, err := os.UserHomeDir()
	if real, ok := filepath.EvalSymlinks(home); ok == nil {
		home = real
	}
	if err != nil || !at.Unmarked || !strings.HasPrefix(home+"/", strings.TrimSuffix(at.Dir, "/")+"/") {
		return ""
	}
	return "This server was started in " + at.Dir + ", which is no project: its frames share one tree, whatever folder the work is in. " +
		"Tell the user to start the client in the project's folder, or to set " + env.ProjectDir + " in the server's environment."
}

// aside returns the tool that the hooks of a host call; the zero HiddenTool for no host.
func aside(a *app.App, p *project.Project, at place.Place, name string) transport.HiddenTool {
	host, known := a.Hosts.Find(name)
	if !known {
		return transport.HiddenTool{}
	}
	events := *p
	events.Transcripts = nil // counting usage would keep the host waiting
	caller := intake.ToolHook{
		Handler: a.EventHandler(&events, at), Host: host, Agent: os.Getenv(core.AgentVariable), Off: a.Settings.Off,
		Worktree: func(folder string) string { return a.WorktreeOf(at, folder) },
	}
	return transport.HiddenTool{Tool: host.Events.Tool.Tool, Model: host.Events.CallID, Answer: caller.Answer}
}

func serveHTTP(ctx context.Context, a *app.App, srv *tools.Server, data *place.Folder, to listenAt, opts transport.HTTPOptions) error {
	guarding, said, err := guardOf(ctx, a, data, to)
	if err != nil {
		return err
	}
	opts.Guard = guarding
	opts.Listening = func(at net.Addr) {
		a.PrintNote(said)
		a.PrintNote(fmt.Sprintf("listening on http://%s/mcp", at))
	}
	return transport.ServeHTTP(ctx, srv.MCP, opts)
}

// guardOf returns the guard of a server, which requires a token unless that is turned off,
// and what to say about it.
func guardOf(ctx context.Context, a *app.App, data *place.Folder, to listenAt) (g *guard.Guard, said string, err error) {
	switch {
	case to.noToken:
		g, err = guard.WithoutToken(to.addr)
		return g, "no token is required: other users of this machine can connect", err
	case a.Settings.HTTPToken != "":
		g, err = guard.New(to.addr, a.Settings.HTTPToken)
		return g, "the token is the value of " + env.HTTPToken, err
	}
	if _, err := data.Ready(ctx, true); err != nil {
		return nil, "", err
	}
	file := filepath.Join(data.Path, "http-token")
	token, err := guard.LoadToken(file)
	if err != nil {
		return nil, "", err
	}
	g, err = guard.New(to.addr, token)
	return g, "the token is in " + file, err
}

// toolsOf returns the tools that the caller of this process may use.
func toolsOf(ctx context.Context, s *agents.Agents) []tools.Tool {
	guest, err := agents.IsForRemote(ctx, s.Project, os.Getenv(core.AgentVariable))
	if err != nil {
		s.Project.Log.Warn("an agent's record could not be read; it gets the tools of agents from other machines", "error", err)
	}
	if guest || err != nil {
		return tools.ForRemoteAgents(s.Project, s)
	}
	return tools.All(s.Project, s)
}

// offered returns the tools that are in a profile, or all tools with a warning if there is no such
// profile.
func offered(profile string, all []tools.Tool) ([]tools.Tool, *config.Warning) {
	chosen, err := tools.Select(all, profile)
	if err != nil {
		return all, &config.Warning{Variable: env.Tools, Value: profile, Default: "all", Err: err}
	}
	return chosen, nil
}

// openLive opens the project at a place for a live view, and does the background work of a
// server for it.
func openLive(ctx context.Context, a *app.App, at place.Place) board.Source {
	p, closeProject := a.Open(at, true)
	p.HostProcess = nil // the viewer is not the host of the sessions that it shows
	service := a.Agents(p, at)
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	background := a.RunMaintenance(ctx, service, at)
	return board.Source{Agents: service, File: a.File(at), Close: func() error {
		stop()
		background.Wait()
		return closeProject()
	}}
}

// When a server checks whether the repository has a first commit now: not while its host waits
// for the server, and rarely.
const (
	knownFirst = 10 * time.Second
	knownPace  = 10 * time.Minute
)

func keepKnown(ctx context.Context, data *place.Folder, log *slog.Logger) {
	for range project.Every(ctx, knownFirst, knownPace) {
		if err := data.NoteFirstCommit(ctx); err != nil && ctx.Err() == nil {
			log.Warn("the repository's first commit was not recorded", "error", err)
		}
	}
}

// callers returns the function that names the caller if no hook proves who it is: the session of an HTTP
// client, else the session for which the host started the server, else a session for this
// process. The process of an agent names the agent.
func callers(ctx context.Context, a *app.App, p *project.Project, http bool) func(context.Context) project.Caller {
	agent := os.Getenv(core.AgentVariable)
	own := sync.OnceValue(func() string { return ownSession(context.WithoutCancel(ctx), a, p, agent) })
	return func(ctx context.Context) project.Caller {
		session := server.ClientSessionFromContext(ctx)
		by := project.Caller{Session: own(), Agent: agent}
		if known, ok := session.(server.SessionWithClientInfo); ok {
			by.Host = a.Hosts.OfClient(known.GetClientInfo().Name) // its own, or flame's name for a known host
		}
		if by.Host == project.CommandLine { // a client is no person at a shell, whatever it calls itself
			by.Host = "mcp"
		}
		if http && session != nil {
			by.Session = session.SessionID()
		}
		return by
	}
}

// ownSession returns the session of a server on stdin and stdout; empty for that of an agent. A
// program that runs in a session's shell passes the variable that names the session on to a server
// of its own. That server gets another session: its end would end the one that it inherited.
func ownSession(ctx context.Context, a *app.App, p *project.Project, agent string) string {
	if a.Session != "" {
		return a.Session
	}
	if named := a.Hosts.Session(os.Getenv); named != "" {
		inherited, err := p.LivesElsewhere(ctx, named)
		if err != nil {
			p.Log.Warn("flame could not find out whether this server is one of the session that the environment names", "error", err)
		}
		if !inherited {
			return named
		}
	}
	if agent != "" {
		return ""
	}
	return project.NewID("server")
}
