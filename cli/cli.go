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
	"flame/cli/hubcmd"
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

// Run runs one command line and returns the exit code. The process ends soon after ctx.
func Run(ctx context.Context, a *app.App, args []string) int {
	a.TakeTime = context.AfterFunc(ctx, func() { endSoon(a, exitError) })
	root := root(a, args)
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
	commands []entry
}

// An entry names a command of the list, and makes it when it is needed.
type entry struct {
	name string
	make func(*app.App) *cobra.Command
}

const beginning = "Begin:" // help is in this group too

// groups lists every command but help.
func groups(known hosts.Registry) []group {
	fronts := lo.Map(known.WithGateway(), func(h hosts.Host, _ int) entry {
		return entry{h.Program, func(a *app.App) *cobra.Command { return newFront(a, h) }}
	})
	return []group{
		{beginning, append([]entry{{"setup", newSetup}, {"doctor", newDoctor}}, fronts...)},
		{"Look:", []entry{
			{"web", newWeb}, {"report", newReport}, {"tree", newTree}, {"status", newStatus}, {"show", newShow},
			{"context", newContext}, {"search", newSearch}, {"events", newEvents}, {"log", newLog}, {"sessions", newSessions},
			{"stats", newStats}, {"economy", newEconomy},
		}},
		{"Work:", []entry{
			{"push", newPush}, {"pop", newPop}, {"plan", newPlan}, {"activate", newActivate}, {"continue", newContinue},
			{"invalidate", newInvalidate}, {"goal", newGoal}, {"artifact", newArtifact}, {"decision", newDecision},
		}},
		{"Agents:", []entry{{"agents", agentcmd.New}, {"track", agentcmd.NewTrack}}},
		{"Several machines:", []entry{{"hub", hubcmd.NewHub}, {"join", hubcmd.NewJoin}, {"leave", hubcmd.NewLeave}, {"worker", hubcmd.NewWorker}}},
		{"Maintenance:", []entry{
			{"where", newWhere}, {"projects", newProjects}, {"import", newImport}, {"export", newExport}, {"prune", newPrune},
			{"off", newOff}, {"on", newOn}, {"config", newConfig}, {"version", newVersion},
		}},
		{"For programs:", []entry{
			{"serve", newServe}, {hookName, newHook}, {"call", newCall}, {"gateway", newGateway}, {"supervise", newSupervise},
			{"completion", newCompletion},
		}},
	}
}

// groupsFor returns the groups with the commands that a command line may need: the command that
// it begins with, else all. Making all of them takes as long as reading a frame.
func groupsFor(known hosts.Registry, args []string) []group {
	all := groups(known)
	for _, g := range all {
		if e, is := lo.Find(g.commands, func(e entry) bool { return len(args) > 0 && e.name == args[0] }); is {
			return []group{{g.title, []entry{e}}}
		}
	}
	return all
}

// root returns the root of the commands that a command line may need.
func root(a *app.App, args []string) *cobra.Command {
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
	for _, group := range groupsFor(a.Hosts, args) {
		if group.title != beginning {
			root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		}
		for _, e := range group.commands {
			cmd := e.make(a)
			cmd.GroupID = group.title
			if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
				cmd.ValidArgsFunction = cobra.NoFileCompletions
			}
			root.AddCommand(cmd)
		}
	}
	return root
}
