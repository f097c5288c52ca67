package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A choice is the value of a flag with a fixed set of words.
type choice[T ~string] struct {
	word *T
	of   []string
}

// Set sets word if it is one of them.
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

// Choose defines a flag with a fixed set of words, and completes them.
func Choose[T ~string](cmd *cobra.Command, word *T, name, meaning string, of ...string) {
	cmd.Flags().Var(choice[T]{word, of}, name, meaning)
	// The error is for an unknown flag, which this one is not.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}

// NotBlank is the value of a flag that names something. A blank one, as from an
// unset shell variable, must not stand for everything.
type NotBlank struct {
	Name *string
	Of   string // what it names, as help shows it
}

// Set refuses a blank name.
func (n NotBlank) Set(name string) error {
	if strings.TrimSpace(name) == "" {
		return errors.New("it is blank")
	}
	*n.Name = name
	return nil
}

// String returns the name.
func (n NotBlank) String() string { return *n.Name }

// Type returns what help shows.
func (n NotBlank) Type() string { return n.Of }
