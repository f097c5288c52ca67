package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/supervise"
	"flame/cli/doctor"
	"flame/cli/flags"
	"flame/cli/printer"
	"flame/config"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/place"
	"flame/project/sweep"
	"flame/project/view"
)

// An App is what commands work with. main fills it.
type App struct {
	Version  string
	Commit   string // empty if the build did not note it
	Schema   int    // version of the data that the program writes
	Settings config.Settings
	Warnings []config.Warning // of settings that could not be used
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Hosts    hosts.Registry // that flame works in

	// Open opens the project at a place. A long-lived one serves many calls.
	Open func(at place.Place, longLived bool) (*project.Project, func() error, error)
	// Agents returns the service that starts agents in a project.
	Agents func(p *project.Project, at place.Place) (*agents.Agents, error)
	// FirstCommit asks git for the first commit of a repository.
	FirstCommit place.Git
	// Check looks at the data of a place without changing it.
	Check func(ctx context.Context, at place.Place) []core.Finding
	// Repair repairs what it can, and keeps a copy of the data as it was.
	Repair func(ctx context.Context, at place.Place) (core.Repaired, error)
	// Exit ends the process at once, whatever blocks in it.
	Exit func(code int)

	takeTime func() bool // lets a command take as long as it needs to end after a signal

	session string          // flag --session
	out     printer.Printer // as --json selects
}

// warn reports settings that are not used.
func (a *App) warn() {
	for _, w := range a.Warnings {
		a.say(w)
	}
}

func (a *App) say(w config.Warning) { a.note(w.String()) }

// note tells a person something besides the answer.
func (a *App) note(text string) { fmt.Fprintf(a.Stderr, "[flame] %s\n", core.OneLine(text, 2000)) }

// caller returns on whose behalf commands run.
func (a *App) caller() project.Caller {
	session := a.session
	if session == "" {
		session = a.Hosts.Session(os.Getenv)
	}
	return project.Caller{Session: session, Agent: os.Getenv(core.AgentVariable), Host: project.CommandLine}
}

// with opens the project for one command, does what is due, and runs f.
func (a *App) with(ctx context.Context, f func(*project.Project) error) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	return a.at(at, false, func(p *project.Project) error {
		if err := sweep.Once(ctx, p); err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		return f(p)
	})
}

// at opens the project of a place for f.
func (a *App) at(at place.Place, longLived bool, f func(*project.Project) error) error {
	p, closeProject, err := a.Open(at, longLived)
	if err != nil {
		return err
	}
	err = errors.Join(f(p), closeProject())
	if notice := at.Data.Notice(); notice != "" {
		a.note(notice)
	}
	return err
}

// withAgents opens the agents of a place for f.
func (a *App) withAgents(at place.Place, longLived bool, f func(*agents.Agents) error) error {
	return a.at(at, longLived, func(p *project.Project) error {
		s, err := a.Agents(p, at)
		if err != nil {
			return err
		}
		return f(s)
	})
}

// errSilent ends with status 1 after a command has printed what is wrong.
var errSilent = errors.New("silent")

// place finds the project that the command works on, and where its data lies.
func (a *App) place() (place.Place, error) {
	home, _ := os.UserHomeDir() // without one, the search goes up to the top
	at, err := a.locate(home)
	if err != nil {
		return at, err
	}
	around := place.Surroundings{FlameDir: a.Settings.Dir, DataHome: os.Getenv("XDG_DATA_HOME"), Home: home}
	at.Data = place.FolderOf(at, around, a.FirstCommit)
	return at, nil
}

// locate finds the project: by FLAME_PROJECT_DIR, else around the folder of the
// host's session, else around the working folder.
func (a *App) locate(home string) (place.Place, error) {
	start, err := os.Getwd()
	if dir := a.Settings.ProjectDir; dir != "" {
		return place.Given(dir, start, home)
	}
	if dir := a.Hosts.Folder(os.Getenv); dir != "" {
		return place.Locate(dir, home)
	}
	if err != nil {
		return place.Place{}, core.NotFoundf("the working folder is gone").WithHint("change to a folder that exists")
	}
	return place.Locate(start, home)
}

// reads sets up a command that opens the project, queries it and prints the
// answer.
func (a *App) reads(cmd *cobra.Command, run func(ctx context.Context, p *project.Project, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(p *project.Project) error { return run(cmd.Context(), p, args) })
	}
	return cmd
}

// noFrames says that there are no frames if none are shown, and names data that
// may belong to the project from before it was moved; otherwise it is empty.
func (a *App) noFrames(ctx context.Context, shown int) string {
	at, err := a.place()
	if err != nil || shown > 0 {
		return ""
	}
	text := "No frames yet in " + at.Dir + ". `flame push GOAL` starts one, `flame demo` shows how agents do it."
	for _, kept := range a.candidates(ctx, at) {
		text += "\n" + doctor.MayBeOurs(kept) + "; `flame where --adopt " + kept.Name + "` takes it over"
	}
	return text
}

// agentsOf returns the agents of an open project.
func (a *App) agentsOf(p *project.Project) (*agents.Agents, error) {
	at, err := a.place()
	if err != nil {
		return nil, err
	}
	return a.Agents(p, at)
}

// withRecovered opens the agents of this project for f, after recovering from
// killed processes.
func (a *App) withRecovered(ctx context.Context, f func(*agents.Agents) error) error {
	return a.with(ctx, func(p *project.Project) error {
		s, err := a.agentsOf(p)
		if err != nil {
			return err
		}
		if err := s.Recover(ctx); err != nil {
			p.Log.Warn("agents could not be recovered", "error", err)
		}
		return f(s)
	})
}

// asksAgents sets up a command that works with agents.
func (a *App) asksAgents(cmd *cobra.Command, run func(ctx context.Context, s *agents.Agents, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withRecovered(cmd.Context(), func(s *agents.Agents) error { return run(cmd.Context(), s, args) })
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	return cmd
}

// candidates returns data that may be this project's from before it was moved,
// as far as can be told.
func (a *App) candidates(ctx context.Context, at place.Place) []place.Kept {
	found, err := at.Data.Candidates(ctx)
	if err != nil {
		return nil // reported by checkData, or unimportant
	}
	return found
}

// frameFlag defines the flag --frame and completes it.
func (a *App) frameFlag(cmd *cobra.Command, id *string, meaning string) {
	cmd.Flags().Var(flags.NotBlank{Name: id, Of: "FRAME"}, "frame", meaning)
	// The error is for an unknown flag, which this one is not.
	_ = cmd.RegisterFlagCompletionFunc("frame", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.frameArgs(cmd, nil, prefix)
	})
}

// frameArgs offers frame ids for the first argument, with their goals.
func (a *App) frameArgs(cmd *cobra.Command, args []string, prefix string) (offers []cobra.Completion, directive cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := a.with(cmd.Context(), func(p *project.Project) error {
		frames, err := view.Complete(cmd.Context(), p, prefix, 50)
		for _, f := range frames {
			offers = append(offers, cobra.CompletionWithDesc(core.OneLine(f.ID, 0), core.OneLine(f.Goal, 40)))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// mustBeAPerson refuses what models must not do for themselves: without a
// terminal, or inside a host's session.
func (a *App) mustBeAPerson() error {
	if !a.atTerminal() || os.Getenv(core.AgentVariable) != "" || a.Hosts.Inside(os.Getenv, supervise.Above()) {
		return core.Invalidf("a grant is for a person to make").WithHint("run this command yourself, in a terminal of your own")
	}
	return nil
}

// atTerminal reports whether a person may be typing.
func (a *App) atTerminal() bool {
	stdin, ok := a.Stdin.(*os.File)
	return ok && isatty.IsTerminal(stdin.Fd())
}

// confirm has the person at the terminal type a word.
func (a *App) confirm(word, to string) error {
	fmt.Fprintf(a.Stderr, "[flame] type %s to %s: ", word, to)
	typed, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) != word {
		return errors.Join(core.Invalidf("nothing was done"), err)
	}
	return nil
}
