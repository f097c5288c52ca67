// Command flame gives coding agents a call stack: an MCP server that keeps their
// work as a tree of frames, and the commands to look at it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/remote"
	"flame/agents/supervise"
	"flame/cli"
	"flame/cli/app"
	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/codex"
	"flame/hosts/gemini"
	"flame/hosts/opencode"
	"flame/hub"
	"flame/hub/worker"
	"flame/local/git"
	"flame/local/place"
	"flame/project"
	"flame/project/shared"
	"flame/store"
	"flame/store/disk"
	"flame/tools"
)

func main() {
	settings, warnings := config.Load()
	w := wiring{settings, sync.OnceValue(program), hosts.Registry{
		claudecode.Host(),
		opencode.Host(tools.Names),
		codex.Host(settings.Names),
		gemini.Host(func() []string { return tools.Offered(cmp.Or(os.Getenv(env.Tools), hosts.LeanTools)) }),
	}}
	a := &app.App{
		Program: w.program, Build: build(), Settings: settings, Warnings: warnings, Hosts: w.known,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Open: w.open, Log: w.logger, Agents: w.service, KeepHub: w.keepHub,
		File:        func(at place.Place) string { return filepath.Join(at.Data.Path, disk.Name) },
		Check:       func(ctx context.Context, at place.Place) []core.Finding { return store.Check(ctx, at.Data.Path) },
		FirstCommit: git.FirstCommit, Safe: git.SafeDirectories, Exit: os.Exit,
	}
	os.Exit(run(a, os.Args[1:]))
}

// A wiring makes the parts of the program from the settings and the known hosts.
type wiring struct {
	settings config.Settings
	program  func() string // returns the path of flame's own program
	known    hosts.Registry
}

// program returns the path of flame's own program. Hooks do not need it, and it costs a system call.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0] // the system has no /proc
	}
	return path
}

// run runs one command line and returns the exit code.
func run(a *app.App, args []string) int {
	if cli.RunHook(a, args) {
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return cli.Run(ctx, a, args)
}

// build describes how the program was built. A build in a checkout of git takes the version from
// its tag, with commit and date; another one has the version "(devel)" and lacks them.
func build() app.Build {
	b := app.Build{Version: "(devel)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Schema: disk.NewestSchema.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.time":
			b.Date = setting.Value
		}
	}
	return b
}

// open wires a project to its store and log.
func (w wiring) open(at place.Place, longLived bool) (*project.Project, func() error) {
	settings, log := w.settings, w.logger(at)
	kept := store.Open(at.Data.Path, store.Options{LongLived: longLived, Logger: log, Ready: at.Data.Ready})
	p := &project.Project{
		Store: kept, Dir: at.Worktree, Agents: record.Folder(at.Data.Path, ""), Now: now, NewID: project.NewID, Log: log,
		Budget: budget(settings), Subagents: subagents(settings), Autonomy: autonomy(settings),
		EventDays: int(settings.EventsDays), Transcripts: w.known.Formats().Read,
		Fold: settings.Fold == "on", Trim: fold.Trimming(settings.Trim),
		Plans: settings.Plans != "off", FoldPlans: settings.Plans == "on",
		Turns: settings.Turns != "off", FoldTurns: settings.Turns == "on",
		Gateway:     os.Getenv(env.Gateway),
		HostProcess: sync.OnceValue(func() project.Process { return project.Process(supervise.Caller()) }),
		Gone:        func(host project.Process) bool { return supervise.Process(host).Gone() },
	}
	p.StampKey = func(ctx context.Context, write bool) (project.StampKey, error) { return at.Data.StampKey(ctx, write) }
	p.Claim = func(ctx context.Context, frame core.Frame) error { return hub.Claim(ctx, p, at.Data.Path, frame) }
	if !longLived {
		// Every write is on the disk already. Closing would only add the syncs of
		// SQLite's clean-up to each command.
		return p, func() error { return nil }
	}
	return p, kept.Close
}

// service wires the service that starts agents.
func (w wiring) service(p *project.Project, at place.Place) *agents.Agents {
	s := w.settings
	machine, _ := hosts.ThisMachine(at.Worktree) // without a home there are no definitions of the user's
	bounds := plan.DefaultBounds()
	bounds.Depth, bounds.Total, bounds.Concurrent = int(s.AgentMaxDepth), int(s.AgentMaxTotal), int(s.AgentMaxConcurrent)
	bounds.Tokens, bounds.CostUSD = int64(s.AgentBudgetTokens), float64(s.AgentBudgetUSD)
	bounds.Each.Wall, bounds.Each.Idle = seconds(s.AgentTimeout), seconds(s.AgentIdle)
	return &agents.Agents{
		Setup: plan.Setup{
			Project: p, Data: at.Data.Path, Dir: at.Worktree, Hosts: w.known, Machine: machine, Host: s.AgentHost, Bounds: bounds,
			Catalog: func(checkout string) definition.Catalog {
				return definition.Load(w.known, definition.Dirs(w.known, machine.InProject(checkout)))
			},
		},
		Root: at.Dir, Program: w.program(), Keep: s.AgentOnSessionEnd == "keep", Start: supervise.Start, OpenGate: gates{w, at}.open,
		Remote: worker.Requester{Data: at.Data.Path},
	}
}

// keepHub keeps a project connected to the hub that it has joined, if any.
func (w wiring) keepHub(ctx context.Context, p *project.Project, at place.Place) {
	hub.Keep(ctx, hub.Config{
		Data: at.Data.Path, Version: build().Version, Log: p.Log, Now: now,
		Tree: func(machine string) hub.Tree { return shared.Tree{Project: p, Machine: machine} },
		Held: func(ctx context.Context) ([]string, error) { return shared.Held(ctx, p) },
		Agents: func(ctx context.Context) (json.RawMessage, error) {
			return project.Read(ctx, p, func(tx project.Tx) (json.RawMessage, error) { return remote.LocalAgents(tx, p.Now()) })
		},
		Meet: func(ctx context.Context, there []string, news map[string]json.RawMessage) error {
			return remote.SyncStates(ctx, p, there, news)
		},
		Beside: func(ctx context.Context) { agents.SendPending(ctx, w.service(p, at)) },
	})
}

func seconds(n config.Count) time.Duration { return time.Duration(n) * time.Second }

func (w wiring) logger(at place.Place) *slog.Logger {
	if w.settings.LogLevel == "off" {
		return slog.New(slog.DiscardHandler)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(w.settings.LogLevel)); err != nil {
		level = slog.LevelInfo // config lets only levels through
	}
	isThere := func() bool {
		there, err := at.Data.Ready(context.Background(), false)
		return there && err == nil
	}
	return slog.New(slog.NewJSONHandler(disk.NewLog(at.Data.Path, isThere), &slog.HandlerOptions{Level: level}))
}

func budget(s config.Settings) core.Budget {
	b := core.DefaultBudget()
	b.Total, b.Ancestors = int(s.BudgetTotal), int(s.BudgetAncestors)
	b.Siblings, b.Current = int(s.BudgetSiblings), int(s.BudgetCurrent)
	return b
}

func subagents(s config.Settings) core.SubagentConfig {
	c := core.DefaultSubagentConfig()
	c.Enabled, c.AutoCompleteOnIdle = s.SubagentEnabled, s.SubagentAutoComplete
	c.MinDuration, c.IdleCompletionDelay = int64(s.SubagentMinDuration), int64(s.SubagentIdleDelay)
	c.MinMessageCount, c.SubagentPatterns = int(s.SubagentMinMessages), s.SubagentPatterns
	return c
}

func autonomy(s config.Settings) core.AutonomyConfig {
	c := core.DefaultAutonomyConfig()
	c.Level = core.AutonomyLevel(s.AutonomyLevel)
	c.PushThreshold, c.PopThreshold = int(s.PushThreshold), int(s.PopThreshold)
	c.SuggestInContext, c.EnabledHeuristics = s.SuggestInContext, s.EnabledHeuristics
	return c
}

func now() core.Millis { return core.MillisOf(time.Now()) }
