package core

// A LogPosition is how far a host's log of a session has been read. The zero
// value is its beginning.
type LogPosition struct {
	Offset int64  `json:"offset"`         // in bytes, after the last whole line
	Last   string `json:"last,omitempty"` // id of the answer whose tokens were told last; its further lines tell them again
}

// A LogEntry is one line of a host's log.
type LogEntry struct {
	Message
	Next LogPosition // after the line
}
