package core

// SessionState says what a host session is doing.
type SessionState string

// The states of a session.
const (
	SessionActive    SessionState = "active"
	SessionIdle      SessionState = "idle"
	SessionSuspended SessionState = "suspended"
	SessionEnded     SessionState = "ended"
)

// AgentVariable is the environment variable that names the agent a process
// works for. Everything an agent starts inherits it.
const AgentVariable = "FLAME_AGENT"

// A Session is one conversation in a host. A native subagent's run is a session
// too; it has a Parent.
type Session struct {
	ID             string       `json:"id"`
	Parent         string       `json:"parent,omitempty"`      // session that started it; empty for a user's own
	Host           string       `json:"host,omitempty"`        // name of a host, cli, or what the client calls itself
	Title          string       `json:"title,omitempty"`       // as the host gives it
	State          SessionState `json:"state"`                 //
	Root           string       `json:"root,omitempty"`        // id of the frame it began with; for a child session, its own frame
	Current        string       `json:"current,omitempty"`     // id of the frame it works in
	Stamped        bool         `json:"stamped,omitempty"`     // a hook has named this session in a call
	Tracked        bool         `json:"tracked,omitempty"`     // a child session that subagent integration watches
	IsSubagent     bool         `json:"isSubagent,omitempty"`  // its title matched a subagent pattern when it was registered
	IsCompleted    bool         `json:"isCompleted,omitempty"` // a tracked session whose frame has been finished
	Skipped        bool         `json:"skipped,omitempty"`     // the heuristics skipped it, which is counted once
	MessageCount   int          `json:"messageCount"`
	CreatedAt      Millis       `json:"createdAt"`
	LastActivityAt Millis       `json:"lastActivityAt"`
}

// HasFrame reports whether the session has, or had, a frame of its own.
func (s Session) HasFrame() bool { return s.Root != "" }

// Idle reports whether the session waits for input.
func (s Session) Idle() bool { return s.State == SessionIdle }

// An Interval is the time from From until Until, which is later.
type Interval struct {
	From  Millis `json:"from"`
	Until Millis `json:"until"`
}

// A ChildEnd is how the run of a child session ended.
type ChildEnd string

// The ways a child ends.
const (
	ChildCompleted ChildEnd = "completed" // it reached its last message
	ChildFailed    ChildEnd = "failed"    // it failed with an error
	ChildTimedOut  ChildEnd = "timeout"   // it exceeded its time limit
	ChildCancelled ChildEnd = "cancelled" // someone stopped it
	ChildOrphaned  ChildEnd = "orphaned"  // its host disappeared or no longer knows it
)

// childEnds says what each end means for the child's frame and which event
// records it. Interrupted work is kept: its frame is blocked, not failed.
var childEnds = map[ChildEnd]struct {
	status Status
	event  string
	note   string // replaces the summary of a child that wrote none
}{
	ChildCompleted: {Completed, SubagentCompleted, "(ended without a last message)"},
	ChildFailed:    {Failed, SubagentError, "(ended by an error that the host did not report)"},
	ChildTimedOut:  {Failed, SubagentTimeout, "(ran out of time)"},
	ChildCancelled: {Blocked, SubagentCancelled, "(stopped before it was finished)"},
	ChildOrphaned:  {Blocked, SubagentOrphaned, "(its host no longer runs it)"},
}

// Status returns the status that the child's frame takes.
func (e ChildEnd) Status() Status { return childEnds[e].status }

// Event returns the kind of event that records the end.
func (e ChildEnd) Event() string { return childEnds[e].event }

// DefaultSummary returns a summary for a child that wrote none.
func (e ChildEnd) DefaultSummary() string { return childEnds[e].note }

// EndOf returns the end that corresponds to a frame's status.
func EndOf(status Status) ChildEnd {
	switch status {
	case Failed:
		return ChildFailed
	case Blocked:
		return ChildCancelled
	}
	return ChildCompleted
}
