// Package wiring makes the parts of flame and of flame-hub from the settings and the known hosts.
package wiring

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
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
	"flame/local/git"
	"flame/local/place"
	"flame/project"
	"flame/store"
	"flame/store/disk"
	"flame/tools"
)

// Machines are what a project does with its other machines.
type Machines interface {
	agents.RemoteRunner
	// Claim claims a frame of another machine for this one.
	Claim(ctx context.Context, frame core.Frame) error
	// Keep keeps the project connected to the hub that it has joined, if any, until ctx ends.
	Keep(ctx context.Context, log *slog.Logger)
}

// App makes the parts of a program. Program returns the path of flame.
func App(program func() string, machines func(*app.App, *project.Project, place.Place) Machines) *app.App {
	settings, warnings := config.Load()
	w := wiring{settings: settings, program: sync.OnceValue(program), known: hosts.Registry{
		claudecode.Host(),
		opencode.Host(tools.Names),
		codex.Host(settings.Names),
		gemini.Host(func() []string { return tools.Offered(cmp.Or(os.Getenv(env.Tools), hosts.LeanTools)) }),
	}}
	a := &app.App{
		Program: w.program, Build: build(), Settings: settings, Warnings: warnings, Hosts: w.known,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Log: w.logger,
		File:        func(at place.Place) string { return filepath.Join(at.Data.Path, disk.Name) },
		Check:       func(ctx context.Context, at place.Place) []core.Finding { return store.Check(ctx, at.Data.Path) },
		FirstCommit: git.FirstCommit, Safe: git.SafeDirectories, Exit: os.Exit,
	}
	w.machines = func(p *project.Project, at place.Place) Machines { return machines(a, p, at) }
	a.Open, a.Agents = w.open, w.service
	a.KeepHub = func(ctx context.Context, p *project.Project, at place.Place) { w.machines(p, at).Keep(ctx, p.Log) }
	return a
}

// A wiring makes the parts of the program.
type wiring struct {
	settings config.Settings
	program  func() string
	known    hosts.Registry
	machines func(*project.Project, place.Place) Machines
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
		Fold: settings.Fold == "on", Trim: fold.TrimMode(settings.Trim),
		Plans: settings.Plans != "off", FoldPlans: settings.Plans == "on",
		Turns: settings.Turns != "off", FoldTurns: settings.Turns == "on",
		Gateway:     os.Getenv(env.Gateway),
		HostProcess: sync.OnceValue(func() project.Process { return project.Process(supervise.Caller()) }),
		ProcessGone: func(host project.Process) bool { return supervise.Process(host).Gone() },
	}
	p.StampKey = func(ctx context.Context, write bool) (project.StampKey, error) { return at.Data.StampKey(ctx, write) }
	p.Claim = func(ctx context.Context, frame core.Frame) error { return w.machines(p, at).Claim(ctx, frame) }
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
		Root: at.Dir, Program: w.program(), KeepAfterSession: s.AgentOnSessionEnd == "keep", Start: supervise.Start, OpenGate: gates{w, at}.open,
		Remote: w.machines(p, at),
	}
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
