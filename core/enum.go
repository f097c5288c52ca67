package core

import (
	"slices"
	"strings"

	"github.com/samber/lo"
)

// An Enum is a text with a fixed set of values. Its type lists them, for every door that takes one.
type Enum interface {
	~string
	Values() []string
}

// Words returns values of a string type, such as a Enum's constants, as strings.
func Words[T ~string](all ...T) []string {
	return lo.Map(all, func(word T, _ int) string { return string(word) })
}

// CheckEnum returns ErrInvalid, with a list of the words, for a value that is not
// one of its type's words. name is the name of the argument.
func CheckEnum[T Enum](name string, word T) error {
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
