// Package fold leaves out of the requests to a model what was done in finished frames.
// Find says what to leave out next, a Ledger keeps it, so that it never comes back, and
// says what a request looks like. All of it is pure.
package fold

import (
	"flame/core"
)

// A Message is the skeleton of one message of a conversation, as its host is about to
// send it: all that folding needs to know.
type Message struct {
	// Name tells it from the others, and stays the same where the conversation is
	// resumed, cut short or branched.
	Name    string
	Role    core.Role
	Time    core.Millis // of creation
	Summary bool        // the result of a compaction: never left out
	// Answers says that the message is the user's in name only: it holds the
	// results of tools that the previous message called. If the user's words
	// stand beside them it is false, and the previous message is Open.
	Answers bool
	Host    bool   // the host says it, in the user's name or as a message of role system
	Said    string // the user's words in a message of the host's; they stay if it goes
	Open    bool   // must stay: one of its tools has not ended
	Moves   []Move // its successful calls of flame, in order
	Text    string // an assistant's words; the last Quote characters suffice
	Tokens  int    // estimated size; 0 counts as 1
	Calls   []Call // of other tools, in order, where outputs may be cut
}

// A Call is a call of a tool in a message, with its output.
type Call struct {
	ID     string
	Key    string // the same for calls that ask the same; empty for outputs that are never cut
	Tokens int    // of the output, estimated
}

// Quote is how much of an assistant's words, in characters, is quoted before the user's
// message that answered them.
const Quote = 500

// A Move is a call that entered or left a frame.
type Move struct {
	Kind  Kind
	Frame string // id
	First bool   // no other call stands before it in its message
}

// Kind is the direction of a move.
type Kind string

// The directions of a move.
const (
	Enter Kind = "enter" // push, activate, the next of a pop
	Leave Kind = "leave" // pop
)

// A Frame is what the tree knows of a frame that the conversation names or that its
// session worked in.
type Frame struct {
	core.Frame
	EnteredAt core.Millis // when the conversation's own session last entered it; 0 if it never did
	// Foreign says that another session worked in it last: only calls in the history
	// show when this one entered and left it.
	Foreign bool
}

// over reports whether nobody works in the frame any more. A frame that the tree does
// not know may still be open.
func (f *Frame) over() bool { return f != nil && (f.Status.Ended() || f.Status == core.Invalidated) }

// A Note is text by flame that stands right before a message that stays: it says where
// a message of the user was written, or how a frame that no call ended did end.
type Note struct {
	Before string `json:"before"` // name of the message
	Text   string `json:"text"`
	Words  bool   `json:"words,omitempty"` // it has words of the user's, which stay also if all around them goes
}

// A Fold is what one request was the first to leave out: what was done in a frame, with
// those within it.
type Fold struct {
	Edition int         `json:"edition"` // of the ledger, from which on it holds
	Frame   string      `json:"frame"`   // id
	EndedAt core.Millis `json:"endedAt"` // of the frame
	Upto    string      `json:"upto"`    // name of the message that left the frame, or before which its end is told
	Drop    []string    `json:"drop"`    // names of the messages left out, in order
	Notes   []Note      `json:"notes,omitempty"`
	Tokens  int         `json:"tokens"` // left out, estimated

	Since    int `json:"since,omitempty"`    // number of the first request that went without it; 0 while none does
	Requests int `json:"requests,omitempty"` // that went without it before, if it did not hold for a while
}
