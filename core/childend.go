package core

// A ChildEnd is how the run of a child session ended.
type ChildEnd string

// The ways a child ends (DESIGN §6).
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

// Note returns a summary for a child that wrote none.
func (e ChildEnd) Note() string { return childEnds[e].note }

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
