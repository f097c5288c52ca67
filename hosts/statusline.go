package hosts

// A StatusLine is the line that a host shows of what a command prints.
type StatusLine struct {
	// Shown returns what the host tells the command about where the line is shown; ok is
	// false if the document is not of this host.
	Shown func(document []byte) (s Shown, ok bool)
	// Tie plans to have the host show flame's line. If another one is set, no step is
	// planned, and note says where it is set.
	Tie func(m Machine) (steps []Step, note string, err error)
	// Untie plans to undo that. A line that is not flame's stays.
	Untie func(m Machine) ([]Step, error)
}

// A Shown is where a status line is shown.
type Shown struct {
	Session string // of the host
	Folder  string // that the session was started in; an absolute path
}

// Shown returns what a host tells in a document to the command of its status line; it is
// zero if the document is of none of them.
func (r Registry) Shown(document []byte) Shown {
	for _, h := range r {
		if h.StatusLine == nil || len(document) == 0 {
			continue
		}
		if shown, ok := h.StatusLine.Shown(document); ok {
			return shown
		}
	}
	return Shown{}
}
