// Package cli is the shell's door: every command of the program. A command
// parses its line, calls one operation of project and prints the outcome.
package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"flame/cli/agentcmd"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/cli/gatewaycmd"
	"flame/cli/hubcmd"
)

// Exit codes of the program.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// endTime is how long a command may take to end once it has to: longer than a
// server waits for its requests. What blocks may not know a context, such as a
// pipe that nobody reads.
const endTime = 3 * time.Second

// endSoon ends the process after endTime, if it still runs then.
func endSoon(a *app.App) { time.AfterFunc(endTime, func() { a.Exit(exitError) }) }

// Run runs one command line and returns the exit code. When ctx ends, so does
// the process, soon after.
func Run(ctx context.Context, a *app.App, args []string) int {
	a.TakeTime = context.AfterFunc(ctx, func() { endSoon(a) })
	root := root(a, args)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var ended app.Ended
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
	a.Complain(err)
	if errors.Is(err, flags.ErrUsage) {
		return exitUsage
	}
	return exitError
}

// A group is a part of the list of commands that help prints.
type group struct {
	title    string
	commands []*cobra.Command
}

// The titles of groups that are named elsewhere too.
const (
	beginning   = "Begin:" // help is in it
	looking     = "Look:"
	forPrograms = "For programs:"
)

// groupsFor returns the groups with the commands that a command line may need: a hook
// or a status line needs no other command, and hosts would wait a sixth longer if it made
// them all.
func groupsFor(a *app.App, args []string) []group {
	switch {
	case len(args) > 0 && args[0] == "hook":
		return []group{{beginning, nil}, {forPrograms, []*cobra.Command{newHook(a)}}}
	case len(args) > 1 && args[0] == "status" && args[1] == "--line":
		return []group{{beginning, nil}, {looking, []*cobra.Command{newStatus(a)}}}
	}
	return groups(a)
}

// groups lists every command but help.
func groups(a *app.App) []group {
	return []group{
		{beginning, append([]*cobra.Command{newSetup(a), newDoctor(a), newDemo(a)}, gatewaycmd.Fronts(a)...)},
		{looking, []*cobra.Command{
			newWeb(a), newTop(a), newReport(a), newTree(a), newStatus(a), newShow(a), newContext(a), newSearch(a), newEvents(a), newLog(a),
			newSessions(a), newStats(a), newLearned(a),
		}},
		{"Work:", []*cobra.Command{newPush(a), newPop(a), newDone(a), newPlan(a), newActivate(a), newInvalidate(a), newGoal(a), newArtifact(a), newDecision(a)}},
		{"Agents:", []*cobra.Command{agentcmd.New(a), newTrack(a)}},
		{"Several machines:", hubcmd.Commands(a)},
		{"Maintenance:", []*cobra.Command{newWhere(a), newProjects(a), newImport(a), newExport(a), newPrune(a), newOff(a), newOn(a), newConfig(a), newVersion(a)}},
		{forPrograms, []*cobra.Command{newServe(a), newHook(a), newCall(a), gatewaycmd.New(a), newSupervise(a), newNotify(a), newCompletion()}},
	}
}

// root returns the root of the commands that a command line may need.
func root(a *app.App, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "flame",
		Short: "A call stack for coding agents",
		Long: "Flame keeps the work of coding agents as a tree of frames, so that it survives " +
			"compaction, restarts and a change of agent. `flame setup` connects it to " +
			a.Hosts.Titles("and") + "; the other commands show and change the tree of this project.",
		Example:           "  flame setup\n  flame tree\n  flame push \"Fix the login\"",
		Version:           buildOf(a).String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRun:  func(*cobra.Command, []string) { a.Warn() },
		Args:              flags.NoSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	a.Out.Out = a.Stdout
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.PersistentFlags().BoolVar(&a.Out.JSON, "json", false, "print JSON")
	root.PersistentFlags().StringVar(&a.Session, "session", "", "work for this host session (default: the one the host names, else the most recently active)")
	root.SetFlagErrorFunc(flags.WrongFlag)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(a.Stdout, explain(a, cmd)) })
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(a.Stdout, usageOf(a, cmd))
		return err
	})
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID(beginning)
	for _, group := range groupsFor(a, args) {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
				cmd.ValidArgsFunction = cobra.NoFileCompletions
			}
			root.AddCommand(cmd)
		}
	}
	return root
}
