// Package flags checks command lines: arguments, values of flags, and the
// messages about what is wrong with them.
package flags

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flame/core"
)

// ErrUsage marks a command line that is wrong, whatever the project holds:
// status 2.
var ErrUsage = errors.New("usage")

// A UsageError says what was wrong with a command line.
type UsageError struct{ *core.Problem }

// Unwrap returns ErrUsage and what was wrong.
func (e UsageError) Unwrap() []error { return []error{ErrUsage, e.Problem} }

// Wrong returns an error that says what is wrong with the line of cmd, and how
// it should be.
func Wrong(cmd *cobra.Command, format string, args ...any) error {
	return UsageError{Problem: core.Invalidf(format, args...).
		WithHint("usage: %s; `flame help%s` explains it", cmd.UseLine(), Topic(cmd))}
}

// Topic returns what follows flame on the line of a command, and help.
func Topic(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name())
}

// Takes checks that a command gets at least needed and at most most arguments
// that are not blank; a negative most is no limit.
func Takes(needed, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		_, names, _ := strings.Cut(cmd.Use, " ")
		for i := range needed {
			if i >= len(args) || strings.TrimSpace(args[i]) == "" {
				return Wrong(cmd, "%s needs %s", cmd.Name(), names)
			}
		}
		switch {
		case most == 0 && len(args) > 0:
			return Wrong(cmd, "%s takes no arguments, not %q", cmd.Name(), args[0])
		case most > 0 && len(args) > most:
			return Wrong(cmd, "%s takes %s; %q is too much", cmd.Name(), names, args[most])
		}
		return nil
	}
}

// flagTypes says what flags take, by the names of their types.
var flagTypes = map[string]string{
	"bool": "true or false", "uint": "a number from 0", "seconds|duration": "seconds or a duration such as 90s, 5m or 2d",
	"SIZE": "a size such as 500MB or 20GB",
}

// WrongFlag turns an error about a flag into a message.
func WrongFlag(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return Wrong(cmd, "%v", err)
	}
	flag := value.GetFlag()
	wanted, known := flagTypes[flag.Value.Type()]
	if !known {
		wanted = flag.Value.Type()
	}
	return Wrong(cmd, "--%s takes %s, not %q", flag.Name, wanted, value.GetValue())
}

// instead says what to do in place of commands that flame does not have on purpose.
var instead = map[string]string{
	"rm": "nothing is deleted by hand: `flame invalidate FRAME REASON` voids a frame and what is planned below it, `flame prune` archives roots without work",
	"mv": "frames stay where they were made: `flame invalidate FRAME REASON` and `flame plan GOAL` plan one anew elsewhere",
}

// NoSuchCommand checks the arguments of a command that has subcommands: it
// takes none, so any argument is meant as a subcommand.
func NoSuchCommand(parent *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "`flame help" + Topic(parent) + "` lists the commands"
	if !parent.HasSubCommands() {
		hint = "`flame help" + Topic(parent) + "` explains that command"
	}
	if other, ok := instead[args[0]]; ok && !parent.HasParent() {
		hint = other
	} else if near := nearest(parent, args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? " + hint
	}
	return UsageError{Problem: core.Invalidf("there is no command %q", args[0]).WithHint("%s", hint)}
}

// nearest returns the subcommands that a word is a misspelling of. Short words are near to
// everything, and a wrong guess may change what it should not.
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
