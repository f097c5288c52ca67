package core

// A LogPosition is how far a host's log of a session has been read. The zero
// value is the beginning.
type LogPosition struct {
	Offset int64  `json:"offset"`         // in bytes, after the last whole line
	Last   string `json:"last,omitempty"` // id of the last answer whose tokens were counted; its further lines repeat them
}

// A LogEntry is one line of a host's log.
type LogEntry struct {
	Message
	Next LogPosition // after the line
}
