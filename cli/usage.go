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
	"flame/cli/flags"
	"flame/cli/printer"
	"flame/core"
)

// columns returns the width that help is written for.
func columns(a *app.App) int { return cmp.Or(a.Out.Width(), printer.UsualWidth) }

// explain writes what a command is for, and how it is used.
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
		b.WriteString("`flame help" + flags.Topic(cmd) + " COMMAND` explains a command.\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// acts reports whether a command does something by itself: one with others below it has
// flags of its own then.
func acts(cmd *cobra.Command) bool {
	found := !cmd.HasSubCommands()
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { found = found || f.Name != "help" && f.Name != "version" })
	return found
}

// commandsOf lists the subcommands of a group, each with what it does.
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

// beside writes a text in lines to the right of what is before it.
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
