package guard

// A Problem is an error for the person who starts a server: what is wrong, and what
// to do next.
type Problem struct {
	Message string // in lower case, without a full stop
	Hint    string // what to do next
	Cause   error  // of the system; nil if the settings or the file cannot be right
}

// Error returns the message alone.
func (p *Problem) Error() string { return p.Message }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }
