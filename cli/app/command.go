package app

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flame/agents"
	"flame/core"
	"flame/local/place"
	"flame/project"
	"flame/project/view"
)

// ErrSilent ends a command with status 1 after it has printed the reason.
var ErrSilent = errors.New("silent")

// ExitStatus is the exit status of a program that a command has run. Run does not print it as an
// error: the program has printed the reason.
type ExitStatus int

// Error names the status.
func (e ExitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// Answer prints v as JSON with --json, else the text; it prints neither if err is not nil.
func (a *App) Answer(v any, text string, err error) error {
	if err != nil {
		return err
	}
	return a.Out.Print(v, text)
}

// NeedsPlace sets up a command that works with a project's folders, and returns it.
func (a *App) NeedsPlace(cmd *cobra.Command, run func(ctx context.Context, at place.Place, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := a.Place()
		if err != nil {
			return err
		}
		return run(cmd.Context(), at, args)
	}
	return cmd
}

// NeedsProject sets up a command that works with the open project, and returns it.
func (a *App) NeedsProject(cmd *cobra.Command, run func(ctx context.Context, p *project.Project, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.With(cmd.Context(), func(p *project.Project) error { return run(cmd.Context(), p, args) })
	}
	return cmd
}

// NeedsAgents sets up a command that works with the agents of the open project, and returns it.
func (a *App) NeedsAgents(cmd *cobra.Command, run func(ctx context.Context, s *agents.Agents, args []string) error) *cobra.Command {
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		at, err := a.Place()
		if err != nil {
			return err
		}
		return run(ctx, a.Agents(p, at), args)
	})
}

// CompleteFrames completes the values of a flag that takes ids of frames.
func (a *App) CompleteFrames(cmd *cobra.Command, flag string) {
	// The error is for an unknown flag, which this one is not.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.FrameArgs(cmd, nil, prefix)
	})
}

// FrameFlag defines the flag --frame and completes it.
func (a *App) FrameFlag(cmd *cobra.Command, id *string, meaning string) {
	NameFlag(cmd, id, "frame", "FRAME", meaning)
	a.CompleteFrames(cmd, "frame")
}

// FrameArgs completes the first argument with ids of frames and their goals.
func (a *App) FrameArgs(cmd *cobra.Command, args []string, prefix string) (offers []cobra.Completion, directive cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	err := a.With(cmd.Context(), func(p *project.Project) error {
		frames, err := view.Frames(cmd.Context(), p, project.FrameQuery{Prefix: prefix, Order: project.NewestFirst, Limit: 50})
		for _, f := range frames {
			offers = append(offers, cobra.CompletionWithDesc(core.OneLine(f.ID, 0), core.OneLine(f.Goal, 40)+f.MachineSuffix()))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// ErrUsage marks an error in the command line itself, which is independent of the project:
// status 2.
var ErrUsage = errors.New("usage")

// A UsageError is an error in a command line.
type UsageError struct{ *core.Problem }

// Unwrap returns ErrUsage and the problem.
func (e UsageError) Unwrap() []error { return []error{ErrUsage, e.Problem} }

// NewUsageError returns an error that says why the line of cmd is wrong, and how
// it should be.
func NewUsageError(cmd *cobra.Command, format string, args ...any) error {
	return UsageError{Problem: core.Invalidf(format, args...).
		WithHint("usage: %s; `flame help%s` explains it", cmd.UseLine(), Topic(cmd))}
}

// Topic returns the words that follow `flame`, and `flame help`, for a command.
func Topic(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name())
}

// CheckArgs checks that a command gets at least needed and at most most arguments
// that are not blank; a negative most is no limit.
func CheckArgs(needed, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		_, names, _ := strings.Cut(cmd.Use, " ")
		for i := range needed {
			if i >= len(args) || strings.TrimSpace(args[i]) == "" {
				return NewUsageError(cmd, "%s needs %s", cmd.Name(), names)
			}
		}
		switch {
		case most == 0 && len(args) > 0 && cmd.HasSubCommands():
			return NoSuchCommand(cmd, args)
		case most == 0 && len(args) > 0:
			return NewUsageError(cmd, "%s takes no arguments, not %q", cmd.Name(), args[0])
		case most > 0 && len(args) > most:
			return NewUsageError(cmd, "%s takes %s; %q is one argument too many", cmd.Name(), names, args[most])
		}
		return nil
	}
}

// flagTypes describes the values of flags, by the names of their types.
var flagTypes = map[string]string{
	"bool": "true or false", "uint": "a number from 0", "seconds|duration": "seconds or a duration such as 90s, 5m or 2d",
	"SIZE": "a size such as 500MB or 20GB",
}

// WrongFlag turns an error about a flag into a message.
func WrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if other, gone := instead[strings.TrimSpace(Topic(cmd)+" --"+unknown.GetSpecifiedName())]; gone {
			return UsageError{Problem: core.Invalidf("%v", err).WithHint("%s", other)}
		}
	}
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return NewUsageError(cmd, "%v", err)
	}
	flag := value.GetFlag()
	wanted, known := flagTypes[flag.Value.Type()]
	if !known {
		wanted = flag.Value.Type()
	}
	return NewUsageError(cmd, "--%s takes %s, not %q", flag.Name, wanted, value.GetValue())
}

const (
	costHint   = "`flame stats` sums up this project, `flame economy --by day` all sessions of all hosts, `flame economy` shows where tokens went"
	setupHint  = "`flame setup` connects flame to the hosts on this machine; a project needs nothing more"
	removeHint = "`flame setup --remove` does that"
)

// instead has hints for commands and flags that flame deliberately lacks, or no longer has. Its keys
// are what follows "flame" on the line.
var instead = map[string]string{
	"rm": "flame has no command that deletes a frame: " +
		"`flame invalidate FRAME REASON` voids a frame and the planned frames below it, `flame prune` archives roots without work",
	"learned": "`flame agents doctor` proposes patterns for the titles of subagents; thresholds stay as they are set",
	"mv":      "frames stay where they were made: `flame invalidate FRAME REASON`, then `flame plan GOAL` elsewhere",
	"demo":    "`flame setup` connects flame to a host; ask its agent to work in frames, and `flame tree` shows them",
	"ui":      "`flame web` opens the page, `flame tree --follow` draws the tree live",
	"cost":    costHint,
	"usage":   costHint,
	"init":    setupHint,
	"install": setupHint,
	"undo": "`flame invalidate FRAME REASON` voids a frame, `flame goal` and `flame pop` correct one; " +
		"`flame setup --remove` undoes the setup",
	"uninstall":                  removeHint,
	"remove":                     removeHint,
	"agents grants":              "`flame agents grant` without a mode lists the grants",
	"agents list":                "`flame agents show` lists the available agents",
	"agents prune":               "`flame prune --agents` does that",
	"agents revoke":              "`flame agents grant --revoke ID` revokes a grant",
	"done":                       "`flame pop completed [SUMMARY]` completes the current frame",
	"hub remove":                 "`flame hub machines --remove MACHINE` does that",
	"top":                        "`flame tree --follow` draws the tree again when it changes, `flame web` shows everything live",
	"update":                     "update flame with the package manager that installed it, or unpack the new release, then run `flame setup`",
	"setup --statusline":         "set the command `flame status --line` as status line in the host's settings; docs/hosts.md has the line to paste",
	"agents shared":              "machines share the tree, jobs and their results: `flame agents result ID` on the agent's machine prints all of it",
	"agents spawn --uncommitted": "commit what the agent needs: a worker gets the repository from its remote",
}

// NoSuchCommand checks the arguments of a command with subcommands. It takes no arguments
// itself, so any argument is an unknown subcommand.
func NoSuchCommand(parent *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "`flame help" + Topic(parent) + "` lists the commands"
	if !parent.HasSubCommands() {
		hint = "`flame help" + Topic(parent) + "` explains that command"
	}
	if other, ok := instead[strings.TrimSpace(Topic(parent)+" "+args[0])]; ok {
		hint = other
	} else if near := nearest(parent, args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? " + hint
	}
	return UsageError{Problem: core.Invalidf("there is no command %q", args[0]).WithHint("%s", hint)}
}

// nearest returns the subcommands that a word may be a misspelling of. Short words resemble
// many commands, and a wrong suggestion could change the wrong thing.
func nearest(parent *cobra.Command, word string) []string {
	parent.SuggestionsMinimumDistance = max(1, len(word)/3)
	return slices.DeleteFunc(parent.SuggestionsFor(word), func(name string) bool {
		begun, longer := strings.HasPrefix(name, word), strings.HasPrefix(word, name) && len(name) > 2
		switch {
		case begun:
			return 3*len(word) < 2*len(name)
		case longer:
			return false
		}
		return word[0] != name[0] || len(name) < 4
	})
}

// An Entry names a command of the list, and makes it when it is needed.
type Entry struct {
	Name string
	Make func(*App) *cobra.Command
}

// HubCommand describes a command of flame-hub. Flame starts flame-hub for it.
func HubCommand(name string) *cobra.Command {
	return map[string]*cobra.Command{
		"hub": {
			Use: "hub", Short: "Run the server where several machines share their trees",
			Example: "  flame hub\n  flame hub --listen 0.0.0.0:4222\n  flame hub --print-unit > ~/.config/systemd/user/flame-hub.service",
		},
		"join": {
			Use: "join [LINE|URL]", Short: "Share this project's tree with other machines through a hub",
			Example: "  flame join 'tls://192.168.1.5:4222/shop-1a2b3c4d#SUA…'\n  flame join\n  flame join nats://USER:PASSWORD@nats.example.com --project shop",
		},
		"leave": {Use: "leave", Short: "Stop sharing this project's tree with other machines", Example: "  flame leave"},
		"worker": {
			Use: "worker", Short: "Run agents for other machines",
			Example: "  flame worker --queue gpu --slots 2 --max-mode acceptEdits --repos 'github.com/me/*'",
		},
	}[name]
}
