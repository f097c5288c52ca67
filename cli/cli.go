// Package cli is the shell's door: every command of the program. A command
// parses its line, calls one operation of project and prints the outcome.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/agentcmd"
	"flame/cli/app"
	"flame/hosts"
)

// Exit codes of the program.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// endTime is how long a command may take to end after a signal: longer than a
// server waits for its requests. Some calls that block take no context, such as
// a write to a pipe without a reader.
const endTime = 3 * time.Second

// endSoon ends the process after endTime, if it still runs then.
func endSoon(a *app.App, status int) { time.AfterFunc(endTime, func() { a.Exit(status) }) }

// Run runs one command line of flame and returns the exit code. The process ends soon after ctx.
func Run(ctx context.Context, a *app.App, args []string) int {
	return execute(ctx, a, args, root(a, groupsFor(groups(a.Hosts, hubStarters()), args)))
}

// RunHub runs one command line of flame-hub, which has these commands alone.
func RunHub(ctx context.Context, a *app.App, args []string, commands []app.Entry) int {
	root := root(a, []group{{severalMachines, commands}})
	own := root.RunE
	root.Long, root.Example = "The commands of flame for several machines; flame starts this program for them.", "  flame hub\n  flame join"
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if version, _ := cmd.Flags().GetBool("version"); version {
			return own(cmd, args)
		}
		return cmd.Help()
	}
	return execute(ctx, a, args, root)
}

func execute(ctx context.Context, a *app.App, args []string, root *cobra.Command) int {
	a.DisableDeadline = context.AfterFunc(ctx, func() { endSoon(a, exitError) })
	// A word that is no command has no help: `flame ui --help` says the same as `flame ui`.
	root.InitDefaultHelpCmd()
	above, rest, _ := root.Find(args)
	if above.HasSubCommands() && len(rest) > 1 && !strings.HasPrefix(rest[0], "-") && lo.Some(rest, []string{"--help", "-h"}) {
		args = args[:len(args)-len(rest)+1]
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var ended app.ExitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &ended):
		return int(ended)
	case errors.Is(err, app.ErrSilent):
		return exitError
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = errors.New("interrupted")
	}
	a.PrintError(err)
	if errors.Is(err, app.ErrUsage) {
		return exitUsage
	}
	return exitError
}

// A group is a part of the list of commands that help prints.
type group struct {
	title    string
	commands []app.Entry
}

// Titles of groups.
const (
	beginning       = "Begin:" // help is in this group too
	severalMachines = "Several machines:"
)

func entry(name string, make func(*app.App) *cobra.Command) app.Entry {
	return app.Entry{Name: name, Make: make}
}

// groups lists every command but help. Hub are those of several machines.
func groups(known hosts.Registry, hub []app.Entry) []group {
	fronts := lo.Map(known.WithGateway(), func(h hosts.Host, _ int) app.Entry {
		return entry(h.Program, func(a *app.App) *cobra.Command { return newFront(a, h) })
	})
	return []group{
		{beginning, append([]app.Entry{entry("setup", newSetup), entry("doctor", newDoctor)}, fronts...)},
		{"Look:", []app.Entry{
			entry("web", newWeb), entry("report", newReport), entry("tree", newTree), entry("status", newStatus), entry("show", newShow),
			entry("context", newContext), entry("search", newSearch), entry("events", newEvents), entry("log", newLog), entry("sessions", newSessions),
			entry("stats", newStats), entry("economy", newEconomy),
		}},
		{"Work:", []app.Entry{
			entry("push", newPush), entry("pop", newPop), entry("plan", newPlan), entry("activate", newActivate), entry("continue", newContinue),
			entry("invalidate", newInvalidate), entry("goal", newGoal), entry("artifact", newArtifact), entry("decision", newDecision),
		}},
		{"Agents:", []app.Entry{entry("agents", agentcmd.New), entry("track", agentcmd.NewTrack)}},
		{severalMachines, hub},
		{"Maintenance:", []app.Entry{
			entry("where", newWhere), entry("projects", newProjects), entry("import", newImport), entry("export", newExport), entry("prune", newPrune),
			entry("off", newOff), entry("on", newOn), entry("config", newConfig), entry("version", newVersion),
		}},
		{"For programs:", []app.Entry{
			entry("serve", newServe), entry(hookName, newHook), entry("call", newCall), entry("gateway", newGateway), entry("supervise", agentcmd.NewSupervise),
			entry("completion", newCompletion),
		}},
	}
}

// groupsFor returns of all groups the commands that a command line may need: the command that it
// begins with, else all. Making all of them takes as long as reading a frame.
func groupsFor(all []group, args []string) []group {
	for _, g := range all {
		if e, is := lo.Find(g.commands, func(e app.Entry) bool { return len(args) > 0 && e.Name == args[0] }); is {
			return []group{{g.title, []app.Entry{e}}}
		}
	}
	return all
}

// root returns the root of the commands in groups.
func root(a *app.App, groups []group) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "flame",
		Short: "A call stack for coding agents",
		Long: "Flame keeps the work of coding agents as a tree of frames, so that it survives " +
			"compaction, restarts and a change of agent. `flame setup` connects it to " +
			a.Hosts.Titles("and") + "; the other commands show and change the tree of this project.",
		Example:           "  flame\n  flame setup\n  flame tree\n  flame push \"Fix the login\"",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRun:  func(*cobra.Command, []string) { a.Warn() },
		Args:              app.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				_, err := fmt.Fprintln(a.Stdout, a.Build)
				return err
			}
			return newToday(a).RunE(cmd, nil)
		},
	}
	// Cobra's own flag needs a template, and with templates the linker keeps every
	// exported method of the program: 4 MB.
	root.Flags().BoolVarP(&version, "version", "v", false, "version for flame")
	a.Out.Out = a.Stdout
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.PersistentFlags().BoolVar(&a.Out.JSON, "json", false, "print JSON")
	root.PersistentFlags().StringVar(&a.Session, "session", "",
		"the host session to act in (default: the session that the host names, else the most recently active)")
	root.SetFlagErrorFunc(app.WrongFlag)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(a.Stdout, explain(a, cmd)) })
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(a.Stdout, usageOf(a, cmd))
		return err
	})
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID(beginning)
	root.AddGroup(&cobra.Group{ID: beginning, Title: beginning}) // help is in it
	for _, group := range groups {
		if group.title != beginning {
			root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		}
		for _, e := range group.commands {
			cmd := e.Make(a)
			cmd.GroupID = group.title
			if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
				cmd.ValidArgsFunction = cobra.NoFileCompletions
			}
			root.AddCommand(cmd)
		}
	}
	return root
}
