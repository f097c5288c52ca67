// Command flame gives coding agents a call stack: an MCP server that keeps their
// work as a tree of frames, and the commands to look at it.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"flame/agents"
	"flame/agents/abroad"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/cli"
	"flame/cli/app"
	"flame/config"
	"flame/config/env"
	"flame/core"
	"flame/core/fold"
	"flame/core/learn"
	"flame/git"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/hub"
	"flame/notify"
	"flame/project"
	"flame/project/place"
	"flame/project/shared"
	"flame/store"
	"flame/store/disk"
	"flame/store/schema"
	"flame/tools"
	"flame/worker"
)

func main() {
	settings, warnings := config.Load()
	known := hosts.Registry{
		claudecode.Host(),
		opencode.Host(tools.Names),
	}
	a := &app.App{
		Version: version(), Commit: commit(), Schema: schema.Newest.Version, Settings: settings, Warnings: warnings, Hosts: known,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Open: func(at place.Place, longLived bool) (*project.Project, func() error, error) {
			return open(settings, known, at, longLived)
		},
		File:    func(at place.Place) string { return filepath.Join(at.Data.Path, disk.Name) },
		Log:     func(at place.Place) *slog.Logger { return logger(settings, at) },
		KeepHub: func(ctx context.Context, p *project.Project, at place.Place) { keepHub(ctx, settings, known, p, at) },
		Agents: func(p *project.Project, at place.Place) (*agents.Agents, error) {
			return service(settings, known, p, at)
		},
		Check:  func(ctx context.Context, at place.Place) []core.Finding { return store.Check(ctx, at.Data.Path) },
		Repair: repair, FirstCommit: git.FirstCommit, Exit: os.Exit,
	}
	os.Exit(run(a, os.Args[1:]))
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

// version is that of the module as it was built; "(devel)" from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// commit is the one that was checked out when the program was built; empty if that is
// not known.
func commit() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}

// open wires a project to its store and log.
func open(settings config.Settings, known hosts.Registry, at place.Place, longLived bool) (*project.Project, func() error, error) {
	log := logger(settings, at)
	kept := store.Open(at.Data.Path, store.Options{LongLived: longLived, Logger: log, Ready: at.Data.Ready})
	p := &project.Project{
		Store: kept, Dir: at.Worktree, Agents: record.Folder(at.Data.Path, ""), Now: now, NewID: project.NewID, Log: log,
		Budget: budget(settings), Subagents: subagents(settings), Autonomy: autonomy(settings),
		Learn:     learn.Settings{Mode: learn.Mode(settings.Learn), Bounds: int(settings.LearnBounds)},
		EventDays: int(settings.EventsDays), Transcripts: known.Formats().Read,
		Fold: settings.Fold == "on", Trim: fold.Trimming(settings.Trim),
		HostProcess: sync.OnceValue(func() project.Process { return project.Process(supervise.Caller()) }),
		Gone:        func(host project.Process) bool { return supervise.Process(host).Gone() },
	}
	p.Claim = func(ctx context.Context, frame core.Frame) error { return hub.Claim(ctx, p, at.Data.Path, frame) }
	if !longLived {
		// Every write is on the disk already; closing would only cost a
		// command the syncs of SQLite's clean-up.
		return p, func() error { return nil }, nil
	}
	return p, kept.Close, nil
}

// service wires what starts agents.
func service(s config.Settings, known hosts.Registry, p *project.Project, at place.Place) (*agents.Agents, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	machine, _ := hosts.ThisMachine(at.Worktree) // one without a home has no definitions of the user's
	bounds := plan.DefaultBounds()
	bounds.Depth, bounds.Total, bounds.Concurrent = int(s.AgentMaxDepth), int(s.AgentMaxTotal), int(s.AgentMaxConcurrent)
	bounds.Tokens, bounds.CostUSD = int64(s.AgentBudgetTokens), float64(s.AgentBudgetUSD)
	bounds.Each.Wall, bounds.Each.Idle, bounds.Each.Start = seconds(s.AgentTimeout), seconds(s.AgentIdle), seconds(s.AgentStart)
	a := &agents.Agents{
		Project: p, Data: at.Data.Path, Root: at.Dir, Dir: at.Worktree, Program: program, Host: s.AgentHost, Bounds: bounds,
		Hosts: known, Machine: machine,
		Catalog: func(checkout string) definition.Catalog {
			return definition.Load(known, definition.Dirs(known, machine.At(checkout)))
		},
		Keep: s.AgentOnSessionEnd == "keep", Start: supervise.Start, OpenGate: gates{s, known, at}.open,
		Elsewhere: worker.Asker{Data: at.Data.Path},
	}
	if s.Notify != "" {
		notifying(a, s.Notify, at)
	}
	if len(s.Share) > 0 {
		sharing(a, s.Share, at)
	}
	return a, nil
}

// sharing has other machines see what the user wants them to see of agents.
func sharing(a *agents.Agents, kinds []string, at place.Place) {
	foreign := a.Hosts.Foreign(a.Machine, at.Worktree, at.Dir)
	if file := a.Hosts.SetByProject(a.Machine, foreign, env.Share); file != "" {
		a.Project.Log.Warn("what agents did is not shared: a file that came with the project says so, or cannot be read", "file", file, "variable", env.Share)
		os.Unsetenv(env.Share) // as in notifying
		return
	}
	a.Share = kinds
}

// notifying has agents run the user's program when a person may want to know something.
func notifying(a *agents.Agents, setting string, at place.Place) {
	program, err := notify.Chosen(setting, a.Hosts, at)
	if err != nil {
		a.Project.Log.Warn("notify", "error", err)
		// Where it came from is seen here, and not by what this process starts elsewhere.
		os.Unsetenv(env.Notify)
		return
	}
	teller := &notify.Teller{Flame: a.Program, Program: program, Log: a.Project.Log}
	a.Notify, a.Notified = teller.Tell, teller.Wait
}

// keepHub keeps a project connected to the hub that it has joined, if it has.
func keepHub(ctx context.Context, settings config.Settings, known hosts.Registry, p *project.Project, at place.Place) {
	post := &abroad.Post{Project: p}
	hub.Keep(ctx, hub.Station{
		Data: at.Data.Path, Version: version(), Log: p.Log, Now: now,
		Tree:   func(machine string) hub.Tree { return hub.TreeOf(p, machine) },
		Held:   func(ctx context.Context) ([]string, error) { return shared.Held(ctx, p) },
		Agents: post.Own, Meet: post.Meet,
		Beside: func(ctx context.Context) {
			a, err := service(settings, known, p, at)
			if err != nil {
				p.Log.Warn("nothing is shared of agents", "error", err)
				return
			}
			agents.Owe(ctx, a)
		},
	})
}

func seconds(n config.Count) time.Duration { return time.Duration(n) * time.Second }

func repair(ctx context.Context, at place.Place) (core.Repaired, error) {
	return store.Repairer{Ready: at.Data.Ready, Now: now, NewID: project.NewID}.Repair(ctx, at.Data.Path)
}

func logger(settings config.Settings, at place.Place) *slog.Logger {
	if settings.LogLevel == "off" {
		return slog.New(slog.DiscardHandler)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(settings.LogLevel)); err != nil {
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
	c.Level, c.Strategy = core.AutonomyLevel(s.AutonomyLevel), core.Strategy(s.AutonomyStrategy)
	c.PushThreshold, c.PopThreshold = int(s.PushThreshold), int(s.PopThreshold)
	c.SuggestInContext, c.EnabledHeuristics = s.SuggestInContext, s.EnabledHeuristics
	return c
}

func now() core.Millis { return core.MillisOf(time.Now()) }
