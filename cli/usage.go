package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	topic := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name())
	return usageError{core.Invalidf(format, args...).
		WithHint("usage: %s; `flame help%s` tells more", cmd.UseLine(), topic)}
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
var flagTypes = map[string]string{"bool": "true or false", "uint": "a number from 0"}

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

// String gives the word.
func (c choice[T]) String() string { return string(*c.word) }

// Type lists the words.
func (c choice[T]) Type() string { return strings.Join(c.of, "|") }

// choose defines a flag that takes one of a few words, and completes them.
func choose[T ~string](cmd *cobra.Command, word *T, name, meaning string, of ...string) {
	cmd.Flags().Var(choice[T]{word, of}, name, meaning)
	// The error is for an unknown flag, which this one is not.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}

// noSuchCommand is the check of flame's own arguments: there are none, so that
// any is meant as a command.
func noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "`flame help` lists the commands"
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? " + hint
	}
	return usageError{core.Invalidf("there is no command %q", args[0]).WithHint("%s", hint)}
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Explain a command", Example: "  flame help push", Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noSuchCommand(cmd.Root(), args)
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && !c.Hidden && strings.HasPrefix(c.Name(), prefix) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
