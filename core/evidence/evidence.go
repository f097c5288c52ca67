// Package evidence finds what speaks for a push at a user's prompt, or for the end of a frame after a turn, as clearly
// that flame may suggest it without being asked, and follows the to-do lists of hosts, which say so themselves. It is
// pure: the same moment has the same evidence.
package evidence

import "flame/core"

// A Moment is what flame knows at a user's prompt, or when the agent has just stopped. Zero values are unknown.
type Moment struct {
	Frame  Frame
	Recent []Message // the last messages, oldest first; after a turn the last one is the agent's
	Calls  []Call    // of the turn that ended, since the agent works in the frame; some of them, oldest first
	Prompt string    // the user's new message; empty after a turn
}

// A Frame holds the relevant facts about the frame in which the agent works.
type Frame struct {
	Goal      string
	Criteria  string   // for success; may be empty
	Planned   []string // goals of planned children
	Open      int      // children in progress
	Files     []string // changed since the agent works in the frame
	Decisions []string
	Artifacts []string
}

// A Message is one of a conversation.
type Message struct {
	Role core.Role `json:"role"`
	Text string    `json:"text"`
}

// A Recommendation is a push or a pop for which there is evidence. Its zero value recommends nothing.
type Recommendation struct {
	Confidence int    // 0..100; 0: there is no evidence
	Reason     string // in words
	Goal       string // of a push: that of the planned child or of the new frame
	Proven     bool   // flame may do it without asking
}

// How sure the kinds of evidence are: each is right in at least so many of a hundred moments that were not used to
// choose words.
const (
	named    = 95  // the prompt names a planned child
	unshared = 90  // the prompt asks for work that shares no word with the work at hand
	checked  = 90  // checks passed after the last change
	proof    = 100 // so did tests, nothing can hide their failure, and all that was asked for is spoken of
)

// Bounds on reading, in bytes where it is text.
const (
	maxText   = 4000 // of a prompt or a message: its beginning
	maxItem   = 200  // of an item of a list
	maxItems  = 100  // the latest ones of a list
	maxGoal   = 200  // characters of a goal
	maxOutput = 6000 // of an output: its end
)

// latest returns the last items of a list.
func latest[T any](list []T) []T { return list[max(0, len(list)-maxItems):] }
