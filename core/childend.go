package core

// A ChildEnd is how the run of a child session ended.
type ChildEnd string

// The ways a child ends (DESIGN §6).
const (
	ChildCompleted ChildEnd = "completed" // it came to its last message
	ChildFailed    ChildEnd = "failed"    // by an error
	ChildTimedOut  ChildEnd = "timeout"   // it took longer than it may
	ChildCancelled ChildEnd = "cancelled" // someone stopped it
	ChildOrphaned  ChildEnd = "orphaned"  // its host went away, or no longer knows it
)

// childEnds say what each end makes of the child's frame, and the event that
// tells of it. Work that was cut off is kept: its frame is blocked, not failed.
var childEnds = map[ChildEnd]struct {
	status Status
	event  string
	note   string // stands for the summary of a child that left no words
}{
	ChildCompleted: {Completed, SubagentCompleted, "(ended without a last message)"},
	ChildFailed:    {Failed, SubagentError, "(ended by an error that the host did not tell)"},
	ChildTimedOut:  {Failed, SubagentTimeout, "(ran out of time)"},
	ChildCancelled: {Blocked, SubagentCancelled, "(stopped before it was done)"},
	ChildOrphaned:  {Blocked, SubagentOrphaned, "(its host no longer runs it)"},
}

// Status is what the child's frame becomes.
func (e ChildEnd) Status() Status { return childEnds[e].status }

// Event is the kind of event that tells of the end.
func (e ChildEnd) Event() string { return childEnds[e].event }

// Note stands for the summary where the child left no words.
func (e ChildEnd) Note() string { return childEnds[e].note }

// EndOf returns the end that a frame's status stands for.
func EndOf(status Status) ChildEnd {
	switch status {
	case Failed:
		return ChildFailed
	case Blocked:
		return ChildCancelled
	}
	return ChildCompleted
}
