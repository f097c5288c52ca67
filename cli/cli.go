// Package cli is the shell's door: every command of the program. A command
// parses its line, calls one operation of project and prints what came of it.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"flame/config"
	"flame/core"
	"flame/project"
)

// An App is what commands work with. main fills it.
type App struct {
	Version  string
	Settings config.Settings
	Warnings []config.Warning // of settings that could not be used
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer

	// Open opens the project at a place. A long-lived one serves many calls.
	Open func(place project.Place, longLived bool) (*project.Project, func() error, error)
	// Check looks at the data of a place without changing it.
	Check func(ctx context.Context, place project.Place) []Finding

	session string // flag --session
	json    bool   // flag --json
}

// A Finding is one thing that doctor found.
type Finding struct {
	What   string `json:"what"`
	Hint   string `json:"hint,omitempty"` // what to do about it
	Broken bool   `json:"broken"`         // something does not work; otherwise it is a note
}

// Exit codes of the program.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// errUsage marks a command line that cannot be right.
var errUsage = errors.New("usage")

// errSilent ends with status 1 after a command has printed what is wrong.
var errSilent = errors.New("silent")

// Run runs one command line and gives the exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errSilent):
		return exitError
	}
	a.complain(err)
	if errors.Is(err, errUsage) {
		return exitUsage
	}
	return exitError
}

// complain prints an error as people read it: one line, perhaps a hint.
func (a *App) complain(err error) {
	fmt.Fprintf(a.Stderr, "flame: %s\n", core.OneLine(err.Error(), 2000))
	var problem *core.Problem
	if errors.As(err, &problem) && problem.Hint != "" {
		fmt.Fprintf(a.Stderr, "hint: %s\n", core.OneLine(problem.Hint, 2000))
	}
}

// usage makes err one of wrong usage.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// A usageError keeps the words of what was wrong with a command line.
type usageError struct{ error }

func (e usageError) Unwrap() []error { return []error{errUsage, e.error} }

// commands lists every command, in the order of the help.
func (a *App) commands() []*cobra.Command {
	return []*cobra.Command{
		newSetup(a), newDoctor(a), newDemo(a), newServe(a), newCall(a),
		newTree(a), newStatus(a), newShow(a), newContext(a), newSearch(a), newEvents(a), newStats(a),
		newPush(a), newPop(a), newPlan(a), newActivate(a), newInvalidate(a), newGoal(a), newArtifact(a), newDecision(a),
		newImport(a), newExport(a), newOff(a), newOn(a), newPrune(a), newConfig(a),
	}
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "flame",
		Short: "A call stack for coding agents",
		Long: "Flame keeps the work of coding agents as a tree of frames, so that it survives\n" +
			"compaction, restarts and a change of agent. `flame setup` ties it to Claude Code\n" +
			"and OpenCode; the other commands show and change the tree of this project.",
		Example:           "  flame setup\n  flame tree\n  flame push \"Fix the login\"",
		Version:           a.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		PersistentPreRun:  func(*cobra.Command, []string) { a.warn() },
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetVersionTemplate("flame {{.Version}}\n")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	root.PersistentFlags().StringVar(&a.session, "session", "", "work for this host session (default: CLAUDE_CODE_SESSION_ID, else where work is going on)")
	root.AddCommand(a.commands()...)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	for _, cmd := range append(root.Commands(), root) {
		if check := cmd.Args; check != nil {
			cmd.Args = func(cmd *cobra.Command, args []string) error { return usage(check(cmd, args)) }
		}
	}
	return root
}

// warn tells of settings that are not used.
func (a *App) warn() {
	for _, w := range a.Warnings {
		fmt.Fprintf(a.Stderr, "[flame] %s\n", w)
	}
}

// place finds the project that the command works on.
func (a *App) place() (project.Place, error) {
	home, _ := os.UserHomeDir()
	place := project.Place{}
	switch dir := a.Settings.ProjectDir; {
	case dir != "":
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return place, core.NotFoundf("FLAME_PROJECT_DIR is %s, which is not a folder", dir).WithHint("name a folder that exists, or leave it unset")
		}
		place = project.At(dir)
	default:
		start := os.Getenv("CLAUDE_PROJECT_DIR")
		if start == "" {
			var err error
			if start, err = os.Getwd(); err != nil {
				return place, err
			}
		}
		var err error
		if place, err = project.Locate(start, home); err != nil {
			return place, err
		}
	}
	if a.Settings.Dir != "" {
		place.Data = a.Settings.Dir
	}
	return place, nil
}

// caller is on whose behalf commands run.
func (a *App) caller() project.Caller {
	session := a.session
	if session == "" {
		session = os.Getenv("CLAUDE_CODE_SESSION_ID")
	}
	return project.Caller{Session: session, Host: project.CommandLine}
}

// with opens the project for one command, does what is due, and runs f.
func (a *App) with(ctx context.Context, f func(*project.Project) error) error {
	place, err := a.place()
	if err != nil {
		return err
	}
	p, closeProject, err := a.Open(place, false)
	if err != nil {
		return err
	}
	if err := p.Sweep(ctx); err != nil && !errors.Is(err, core.ErrUnavailable) {
		return errors.Join(err, closeProject())
	}
	return errors.Join(f(p), closeProject())
}

// print writes v as JSON with --json, else the text.
func (a *App) print(v any, text string) error {
	if !a.json {
		_, err := fmt.Fprintln(a.Stdout, strings.TrimRight(text, "\n"))
		return err
	}
	encoder := json.NewEncoder(a.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// frame is a frame with --json, else its text.
func (a *App) frame(f core.Frame, text string) error { return a.print(f, text) }
