package core

import (
	"slices"
	"strings"
)

// A Word is a text with a fixed set of values. Its type lists them, for every
// door that takes one.
type Word interface {
	~string
	Values() []string
}

// Words returns values of a string type, such as a Word's constants, as
// strings.
func Words[T ~string](all ...T) []string {
	words := make([]string, len(all))
	for i, word := range all {
		words[i] = string(word)
	}
	return words
}

// OneOf refuses a value that is not one of its type's words; name is what it
// was given as. The error, ErrInvalid, lists the words.
func OneOf[T Word](name string, word T) error {
	values := word.Values()
	if slices.Contains(values, string(word)) {
		return nil
	}
	there := strings.Join(values, ", ")
	if word == "" {
		return Invalidf("%s is missing", name).WithHint("one of %s", there)
	}
	return Invalidf("%s %q does not exist", name, word).WithHint("one of %s", there)
}
