package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flame/cli/app"
	"flame/core"
	"flame/hosts"
)

// columns returns the width that help is written for.
func columns(a *app.App) int { return cmp.Or(a.Out.Width(), app.UsualWidth) }

// explain returns the help of a command: its purpose and its usage.
func explain(a *app.App, cmd *cobra.Command) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(cmp.Or(cmd.Long, cmd.Short), "\n\n") {
		b.WriteString(strings.Join(core.Wrap(paragraph, columns(a)), "\n") + "\n\n")
	}
	return b.String() + usageOf(a, cmd)
}

// usageOf writes how a command is used: its line, its subcommands and its flags.
func usageOf(a *app.App, cmd *cobra.Command) string {
	var b strings.Builder
	part := func(title, text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			b.WriteString(title + "\n" + text + "\n\n")
		}
	}
	line := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		line = cmd.CommandPath() + " COMMAND"
		if acts(cmd) {
			line = cmd.UseLine() + "\n  " + line
		}
	}
	part("Usage:", "  "+line)
	part("Also called:", strings.Join(lo.Map(cmd.Aliases, func(name string, _ int) string { return "  " + name }), ""))
	part("Examples:", cmd.Example)
	for _, group := range cmd.Groups() {
		part(group.Title, commandsOf(a, cmd, group.ID))
	}
	part("Commands:", commandsOf(a, cmd, ""))
	part("Flags:", flagsOf(a, cmd.LocalFlags()))
	part("Flags of all commands:", flagsOf(a, cmd.InheritedFlags()))
	if cmd.HasAvailableSubCommands() {
		b.WriteString("`flame help" + app.Topic(cmd) + " COMMAND` explains a command.\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// acts reports whether a command does something itself. A command with subcommands then has
// its own flags.
func acts(cmd *cobra.Command) bool {
	found := !cmd.HasSubCommands()
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { found = found || f.Name != "help" && f.Name != "version" })
	return found
}

// commandsOf lists the subcommands of a group, each with its purpose.
func commandsOf(a *app.App, cmd *cobra.Command, group string) string {
	var b strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.GroupID != group {
			continue
		}
		b.WriteString(beside(fmt.Sprintf("  %-*s ", sub.NamePadding(), sub.Name()), sub.Short, columns(a)))
	}
	return b.String()
}

// beside returns a text in lines to the right of a head.
func beside(head, text string, width int) string {
	var b strings.Builder
	for _, line := range core.Wrap(text, width-len(head)) {
		b.WriteString(head + line + "\n")
		head = strings.Repeat(" ", len(head))
	}
	return b.String()
}

// maxFlag is how long a flag may be, with its value, to stand beside its meaning rather
// than above it.
const maxFlag = 28

// flagsOf lists flags, each with its meaning and default.
func flagsOf(a *app.App, set *pflag.FlagSet) string {
	heads, meanings, widest := []string{}, []string{}, 0
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, meaning := pflag.UnquoteUsage(f)
		head := "      --" + f.Name
		if f.Shorthand != "" {
			head = "  -" + f.Shorthand + ", --" + f.Name
		}
		if head = strings.TrimSpace(head + " " + value); !slices.Contains([]string{"", "0", "0s", "[]", "false"}, f.DefValue) {
			meaning += " (default " + f.DefValue + ")"
		}
		head = strings.Repeat(" ", 6-len(f.Shorthand)*4) + head
		if len(head) <= maxFlag {
			widest = max(widest, len(head))
		}
		heads, meanings = append(heads, head), append(meanings, meaning)
	})
	var b strings.Builder
	for i, head := range heads {
		if len(head) > maxFlag {
			b.WriteString(head + "\n")
			head = ""
		}
		b.WriteString(beside(fmt.Sprintf("%-*s   ", widest, head), meanings[i], columns(a)))
	}
	return b.String()
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND...]", Short: "Explain a command", Example: "  flame help push\n  flame help agents spawn", Args: app.CheckArgs(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			// Flame-hub explains its commands. Without it, flame knows those that it starts, not what is below them.
			if err == nil && found.GroupID == severalMachines && found.DisableFlagParsing {
				if err := found.RunE(found, append(rest, "--help")); len(rest) > 0 {
					return err
				}
			}
			if err != nil || len(rest) > 0 {
				return app.NoSuchCommand(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if above, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range above.Commands() {
					if !c.Hidden && strings.HasPrefix(c.Name(), prefix) {
						names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// A CommandDoc is one command as docs/reference.md lists it.
type CommandDoc struct {
	Use   string // its name and arguments
	Short string // its purpose
}

// Docs lists every command, in the order of the help. Hub are those of flame-hub.
func Docs(known hosts.Registry, hub []app.Entry) (docs []CommandDoc) {
	var add func(prefix string, cmd *cobra.Command)
	add = func(prefix string, cmd *cobra.Command) {
		if acts(cmd) {
			docs = append(docs, CommandDoc{strings.TrimSpace(prefix + cmd.Use), cmd.Short})
		}
		for _, sub := range cmd.Commands() {
			add(prefix+cmd.Name()+" ", sub)
		}
	}
	for _, group := range groups(known, hub) {
		for _, e := range group.commands {
			if cmd := e.Make(&app.App{Hosts: known}); !cmd.Hidden {
				add("flame ", cmd)
			}
		}
	}
	return docs
}

// All returns the root of all commands, to describe them; running them needs more of an App.
func All(known hosts.Registry, hub []app.Entry) *cobra.Command {
	return root(&app.App{Hosts: known}, groups(known, hub))
}

func newCompletion(*app.App) *cobra.Command {
	shells := []cobra.Completion{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "Print a script that completes commands and frame ids in a shell",
		Example: "  source <(flame completion bash)\n" +
			"  flame completion zsh > \"${fpath[1]}/_flame\"\n" +
			"  flame completion fish > ~/.config/fish/completions/flame.fish",
		Args: app.CheckArgs(1, 1), ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(cmd.OutOrStdout(), true)
			case "zsh":
				return cmd.Root().GenZshCompletion(cmd.OutOrStdout())
			case "fish":
				return cmd.Root().GenFishCompletion(cmd.OutOrStdout(), true)
			}
			return app.NewUsageError(cmd, "there is no completion for %q", args[0])
		},
	}
}

func newVersion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, commit, date, Go and data schema of this program", Example: "  flame version --json",
		Args: app.CheckArgs(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.Out.Print(a.Build, a.Build.String()) },
	}
}

func newConfig(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "List every setting with its value and source", Example: "  flame config", Args: app.CheckArgs(0, 0),
		RunE: func(*cobra.Command, []string) error {
			text, rows := "", a.Settings.List()
			for _, row := range rows {
				text += fmt.Sprintf("%s=%s (%s)\n  %s\n", row.Name, row.Value, row.Source, row.Meaning)
			}
			return a.Out.Print(rows, text)
		},
	}
}
