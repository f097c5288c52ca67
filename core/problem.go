package core

import (
	"errors"
	"fmt"
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
