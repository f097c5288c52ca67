package core

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What a message says of its arguments, in characters. A caller may pass a whole file
// where a name belongs, and the message would fill the context of the model that reads it.
const (
	maxQuoted = 200  // of one that is cut
	maxSaid   = 1000 // of one that is not quoted: paths, lists and errors may be long
)

// A List is what there is to choose from. A message has all of it.
type List []string

// String returns the elements with commas between them.
func (l List) String() string { return strings.Join(l, ", ") }

// sayf formats as fmt.Sprintf does, and shortens arguments that are too long: those with %q,
// which callers passed, beyond maxQuoted characters, all others but Lists beyond maxSaid.
func sayf(format string, args ...any) string {
	for i, arg := range args {
		args[i] = shortened(arg) // in place: vet then knows this function for a Sprintf
	}
	return fmt.Sprintf(format, args...)
}

// shortened returns an argument that is cut where it is too long.
func shortened(arg any) any {
	switch arg := arg.(type) {
	case int, List: // a width must stay an int
		return arg
	case error:
		if _, is := errors.AsType[*Problem](arg); is {
			return arg // its own arguments are cut
		}
	}
	return quotation{arg}
}

// A quotation is an argument of a message.
type quotation struct{ of any }

// Format writes at most maxSaid characters, or the first maxQuoted and how many there are.
func (q quotation) Format(w fmt.State, verb rune) {
	format, limit := fmt.FormatString(w, verb), maxSaid
	if verb == 'q' {
		limit = maxQuoted
	}
	text := fmt.Sprintf(strings.Replace(format, "q", "s", 1), q.of)
	if n := utf8.RuneCountInString(text); n > limit {
		fmt.Fprintf(w, format+" (%s characters)", Head(text, maxQuoted)+"…", grouped(n))
		return
	}
	fmt.Fprintf(w, format, q.of)
}

// grouped returns n with a comma between thousands.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
