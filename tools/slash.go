package tools

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/agents/line"
	"flame/core"
	"flame/core/op"
)

// Slashed arguments may come instead as the line typed after a slash command:
// its options are the arguments of the same names, with hyphens. A tag "line"
// gives an argument another name there, or "-" if it is not an option; a name with "="
// at its end belongs to a boolean that always has a value.
type slashed interface {
	// command returns the line; it is empty if the arguments came one by one.
	command() string

	// rest reads the part of the line without options.
	rest(l line.Line) error
}

// fromLine reads the line of arguments, a pointer to a struct, into them. No other arguments
// may be given with it. Its errors name the option and the expected value.
func fromLine(in slashed) error {
	args := reflect.ValueOf(in).Elem()
	if beside := besideLine(args); len(beside) > 0 {
		return core.Invalidf("command stands for all other arguments; given beside it: %s", strings.Join(beside, ", ")).
			WithHint("give either the line as command, or the arguments")
	}
	options := optionsOf(args.Type())
	l, err := line.Parse(unwrap(slash().ReplaceAllString(in.command(), "")), lo.Map(options, option.known))
	if err != nil {
		return err
	}
	args.SetZero()
	for _, o := range options {
		if value, given := l.Values[o.name]; given {
			if err := o.set(args.FieldByIndex(o.Index), value); err != nil {
				return err
			}
		}
	}
	return in.rest(l)
}

// besideLine returns the names of the arguments that are given beside a line.
func besideLine(args reflect.Value) (names []string) {
	for _, a := range argumentsOf(args.Type()) {
		if a.name != "command" && !args.FieldByIndex(a.Index).IsZero() {
			names = append(names, a.name)
		}
	}
	return names
}

// An option is an argument as it appears in a line.
type option struct {
	argument
	name   string // without the hyphens before it
	valued bool   // it is boolean and needs its value in the line
}

// optionsOf returns the arguments that are options in a line.
func optionsOf(t reflect.Type) (options []option) {
	for _, a := range argumentsOf(t) {
		name, other := a.Tag.Lookup("line")
		if !other {
			name = strings.ReplaceAll(a.name, "_", "-")
		}
		if name != "-" {
			name, valued := strings.CutSuffix(name, "=")
			options = append(options, option{a, name, valued})
		}
	}
	return options
}

// known returns an option as the parser of lines needs it.
func (o option) known(int) line.Option {
	return line.Option{Name: o.name, Switch: plain(o.Type).Kind() == reflect.Bool && !o.valued}
}

// set parses value into the argument to, as strictly as JSON.
func (o option) set(to reflect.Value, value string) error {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(plain(o.Type)))
		to = to.Elem()
	}
	switch to.Kind() {
	case reflect.Bool:
		if value != "true" && value != "false" {
			return core.Invalidf("--%s is %q", o.name, value).WithHint("it must be true or false")
		}
		to.SetBool(value == "true")
	case reflect.Slice:
		to.Set(reflect.ValueOf(append([]string{}, definition.SplitNames(value)...))) // an empty list differs from no list
	case reflect.Int64:
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return core.Invalidf("--%s is %q, not a whole number", o.name, value).WithHint("give a whole number from 0 up")
		}
		to.SetInt(int64(n))
	case reflect.Float64:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n >= 0) || math.IsInf(n, 0) {
			return core.Invalidf("--%s is %q, not a number", o.name, value).WithHint("give a number from 0 up")
		}
		to.SetFloat(n)
	default:
		if o.values != nil && !slices.Contains(o.values, value) {
			return core.Invalidf("--%s is %q", o.name, value).WithHint("it must be one of %s", strings.Join(o.values, ", "))
		}
		to.SetString(value)
	}
	return nil
}

// slash matches the name of a command that a host left in its line.
var slash = sync.OnceValue(func() *regexp.Regexp {
	names := lo.FilterMap(op.Commands, func(c op.Command, _ int) (string, bool) { return c.Name, c.OneArgument })
	return regexp.MustCompile(`^\s*/(?:flame[:_-])?(?:` + strings.Join(names, "|") + `)\b\s*`)
})

// wrapped matches a line in one pair of quotes, options and all, as `opencode
// run --command` passes it on (observed).
var wrapped = core.Pattern(`^\s*"((?:[^"\\]|\\.)*\s--\w(?:[^"\\]|\\.)*)"\s*$`)

func unwrap(text string) string {
	found := wrapped().FindStringSubmatch(text)
	if found == nil {
		return text
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(found[1])
}

// unquote removes the one pair of quotes around a text.
func unquote(text string) string {
	if n := len(text); n > 1 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] && !strings.ContainsRune(text[1:n-1], rune(text[0])) {
		return text[1 : n-1]
	}
	return text
}
