package core

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Errors that callers decide on with errors.Is.
var (
	// ErrNotFound: what was asked for does not exist.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the request cannot be right, or the rules forbid it.
	ErrInvalid = errors.New("invalid")
	// ErrUnavailable: the store cannot serve now (locked, damaged, read-only,
	// full, gone, too new); nothing was changed.
	ErrUnavailable = errors.New("unavailable")
)

// A Problem is an error for the user or model that asked: what was wrong, and
// what to do next. Tools show both to the model; commands show Hint on a
// separate line.
type Problem struct {
	Kind    error  // ErrNotFound, ErrInvalid or ErrUnavailable
	Message string // what was wrong, in lower case, without a full stop
	Hint    string // what to do next; may be empty
	Cause   error  // the underlying error, for the log; may be nil
}

// Error returns the message alone.
func (p *Problem) Error() string { return p.Message }

// Unwrap returns kind and cause, so that errors.Is finds either.
func (p *Problem) Unwrap() []error {
	if p.Cause == nil {
		return []error{p.Kind}
	}
	return []error{p.Kind, p.Cause}
}

// WithHint sets what to do next and returns p.
func (p *Problem) WithHint(format string, args ...any) *Problem {
	p.Hint = fmt.Sprintf(format, args...)
	return p
}

// HintOf returns what to do next about an error; it may be empty.
func HintOf(err error) string {
	var p *Problem
	if errors.As(err, &p) {
		return p.Hint
	}
	return ""
}

// NotFoundf returns a Problem of kind ErrNotFound. It shortens arguments, as sayf says.
func NotFoundf(format string, args ...any) *Problem {
	return &Problem{Kind: ErrNotFound, Message: sayf(format, args...)}
}

// Invalidf returns a Problem of kind ErrInvalid. It shortens arguments, as sayf says.
func Invalidf(format string, args ...any) *Problem {
	return &Problem{Kind: ErrInvalid, Message: sayf(format, args...)}
}

// Unavailablef returns a Problem of kind ErrUnavailable with its cause. It shortens
// arguments, as sayf says.
func Unavailablef(cause error, format string, args ...any) *Problem {
	return &Problem{Kind: ErrUnavailable, Message: sayf(format, args...), Cause: cause}
}

// A Finding is one thing that `flame doctor` found.
type Finding struct {
	What   string `json:"what"`             // without a full stop
	Hint   string `json:"hint,omitempty"`   // what to do about it; empty if there is nothing to do
	Broken bool   `json:"broken"`           // flame does not work, or not correctly, because of it; otherwise it is a note
	Todo   bool   `json:"todo,omitempty"`   // it is a step that comes next, which only the user can take
	Detail bool   `json:"detail,omitempty"` // it only says more about what is well
}

// Limits of a message's arguments, in characters. A caller may pass a whole file instead of a
// name, and the message would fill the context of the model that reads it.
const (
	maxQuoted = 200  // of a quoted argument, and of what remains of a cut one
	maxSaid   = 1000 // of other arguments: paths, lists and errors may be long
)

// A List holds the choices that a user has. Messages never shorten it.
type List []string

// String returns the elements with commas between them.
func (l List) String() string { return strings.Join(l, ", ") }

// sayf formats like fmt.Sprintf and shortens long arguments: arguments of %q, which come from
// callers, beyond maxQuoted characters, and all others except Lists beyond maxSaid.
func sayf(format string, args ...any) string {
	for i, arg := range args {
		args[i] = shortened(arg) // in place: vet then knows this function for a Sprintf
	}
	return fmt.Sprintf(format, args...)
}

// shortened returns an argument that cuts itself if it is too long.
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

// Format writes the argument whole, or its first maxQuoted characters and its length.
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
