package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flame/core"
)

// errUsage marks a command line that cannot be right, whatever the project
// holds: status 2.
var errUsage = errors.New("usage")

// A usageError keeps the words of what was wrong with a command line.
type usageError struct{ error }

func (e usageError) Unwrap() []error { return []error{errUsage, e.error} }

// wrongUsage says what is wrong with the line of cmd, and how it should be.
func wrongUsage(cmd *cobra.Command, format string, args ...any) error {
	return usageError{core.Invalidf(format, args...).
		WithHint("usage: %s; `flame help%s` tells more", cmd.UseLine(), topic(cmd))}
}

// topic is what stands behind flame on the line of a command, and behind help.
func topic(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name())
}

// takes checks that a command gets at least needed arguments that are not
// blank, and at most most; a negative most is no limit.
func takes(needed, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		_, names, _ := strings.Cut(cmd.Use, " ")
		for i := range needed {
			if i >= len(args) || strings.TrimSpace(args[i]) == "" {
				return wrongUsage(cmd, "%s needs %s", cmd.Name(), names)
			}
		}
		switch {
		case most == 0 && len(args) > 0:
			return wrongUsage(cmd, "%s takes no arguments, not %q", cmd.Name(), args[0])
		case most > 0 && len(args) > most:
			return wrongUsage(cmd, "%s takes %s; %q is too much", cmd.Name(), names, args[most])
		}
		return nil
	}
}

// flagTypes says what flags take, by the names of their types.
var flagTypes = map[string]string{
	"bool": "true or false", "uint": "a number from 0", "seconds|duration": "seconds or a duration such as 90s, 5m or 2h",
}

// wrongFlag puts an error about a flag into words.
func wrongFlag(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return wrongUsage(cmd, "%v", err)
	}
	flag := value.GetFlag()
	wanted, known := flagTypes[flag.Value.Type()]
	if !known {
		wanted = flag.Value.Type()
	}
	return wrongUsage(cmd, "--%s takes %s, not %q", flag.Name, wanted, value.GetValue())
}

// A choice is the value of a flag that takes one of a few words.
type choice[T ~string] struct {
	word *T
	of   []string
}

// Set takes word if it is one of them.
func (c choice[T]) Set(word string) error {
	if !slices.Contains(c.of, word) {
		return fmt.Errorf("not one of %s", c.Type())
	}
	*c.word = T(word)
	return nil
}

// String returns the word.
func (c choice[T]) String() string { return string(*c.word) }

// Type lists the words.
func (c choice[T]) Type() string { return strings.Join(c.of, "|") }

// choose defines a flag that takes one of a few words, and completes them.
func choose[T ~string](cmd *cobra.Command, word *T, name, meaning string, of ...string) {
	cmd.Flags().Var(choice[T]{word, of}, name, meaning)
	// The error is for an unknown flag, which this one is not.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}

// A span is the value of a flag that takes how long something lasts.
type span time.Duration

// Set takes seconds, or a duration. It is never below zero.
func (s *span) Set(text string) error {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := parseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	*s = span(d)
	return err
}

// String returns it as a duration, nothing for none.
func (s *span) String() string {
	const day = 24 * time.Hour
	switch d := time.Duration(*s); {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	default:
		return d.String()
	}
}

// Type is what help shows.
func (s *span) Type() string { return "seconds|duration" }

// lasts defines a flag that takes how long something lasts.
func lasts(cmd *cobra.Command, d *time.Duration, name string, otherwise time.Duration, meaning string) {
	*d = otherwise
	cmd.Flags().Var((*span)(d), name, meaning)
}

// parseDuration reads a duration, of which 7d is one too.
func parseDuration(text string) (time.Duration, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// noSuchCommand is the check of the arguments of a command that has others below
// it: it takes none, so that any is meant as one of those.
func noSuchCommand(parent *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "`flame help" + topic(parent) + "` lists the commands"
	if !parent.HasSubCommands() {
		hint = "`flame help" + topic(parent) + "` tells all there is"
	}
	parent.SuggestionsMinimumDistance = 2
	if near := parent.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? " + hint
	}
	return usageError{core.Invalidf("there is no command %q", args[0]).WithHint("%s", hint)}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND...]", Short: "Explain a command", Example: "  flame help push\n  flame help agents spawn", Args: takes(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noSuchCommand(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			above, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, c := range above.Commands() {
				if !c.Hidden && strings.HasPrefix(c.Name(), prefix) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
