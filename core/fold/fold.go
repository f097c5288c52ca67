// Package fold leaves the work of finished frames out of requests to a model. Find decides what
// to leave out next; a Ledger records it, so that it never comes back, and makes the requests.
// The package is pure.
package fold

import (
	"flame/core"
)

// A Message is what folding needs to know about one message of a conversation that the host is
// about to send.
type Message struct {
	// Name identifies the message. It stays the same when the conversation is resumed, cut
	// short or branched.
	Name    string
	Role    core.Role
	Time    core.Millis // of creation
	Summary bool        // the result of a compaction: never left out
	// IsToolResult says that the message is the user's in name only: it holds the
	// results of tools that the previous message called. If the user's words
	// stand beside them it is false, and the previous message is Open.
	IsToolResult bool
	FromHost     bool   // the host wrote it, in the user's name or as a message of role system
	UserWords    string // the user's words in a host's message, or in the results of an answer's calls; they stay when the message goes
	Open         bool   // must stay: one of its tools has not ended
	Moves        []Move // its successful calls of flame, in order
	Text         string // an assistant's words, or their end: at least Quote characters
	Tokens       int    // estimated size; 0 counts as 1
	Calls        []Call // of other tools, in order, if outputs may be cut or a move of the message is a pop

	Commands []Command // that its calls ran, in order
	Files    []string  // that its calls changed
	Reads    []string  // files that its calls read
	Results  []string  // what subagents answered to its calls, or the beginning of that
}

// A Call is a call of a tool in a message, with its output.
type Call struct {
	ID     string
	Key    string // equal for calls that ask the same; empty if the output is never cut
	Tokens int    // of the output, estimated
}

// Quote is how many characters of an assistant's text are quoted before the user's message that
// answered it.
const Quote = 500

// A Move is a call that entered or left a frame.
type Move struct {
	Kind  Kind
	Frame string // id
	First bool   // no other call stands before it in its message
	Call  string // id of the call, if it has a rest; without an id the answer stays whole
	Rest  string // the answer of a pop without the line that names the new frame that it began
}

// Kind is the direction of a move.
type Kind string

// The directions of a move.
const (
	Enter Kind = "enter" // push, activate, the next of a pop
	Leave Kind = "leave" // pop
)

// A Frame is what the tree knows about a frame that the conversation names or in which its
// session worked.
type Frame struct {
	core.Frame
	EnteredAt core.Millis // when the conversation's own session last entered it; 0 if it never did
	// OtherSession says that another session worked in the frame last: only calls in the history
	// show when this session entered and left it.
	OtherSession bool
	Turn         bool // it is that of a prompt of the user's: the prompt and the last answer stay, and say what came of it
	Item         bool // it is that of an item of the host's list: the call that ended it stays, with the words before it
}

// over reports whether work in the frame has ended. A frame that the tree does not know may
// still be open.
func (f *Frame) over() bool { return f != nil && (f.Status.Ended() || f.Status == core.Invalidated) }

// A Note is flame's text right before a message that stays: it says in which frame the user
// wrote a message, or how a frame ended that no call left.
type Note struct {
	Before string `json:"before"` // name of the message
	Text   string `json:"text"`
	Words  bool   `json:"words,omitempty"` // it has words of the user, which stay even if all around them goes
}

// A Fold holds the messages that one request was the first to leave out: the work in a frame and
// in the frames within it.
type Fold struct {
	Edition    int         `json:"edition"` // the first edition of the ledger with this fold
	Frame      string      `json:"frame"`   // id
	EndedAt    core.Millis `json:"endedAt"` // of the frame
	EndMessage string      `json:"upto"`    // name of the message that left the frame, or that stands behind the note about its end
	Drop       []string    `json:"drop"`    // names of the messages left out, in order
	Notes      []Note      `json:"notes,omitempty"`
	Cuts       []Cut       `json:"calls,omitempty"` // of the pop that began the frame, which stays: its words, the frame's calls, its answer; stored as calls
	Tokens     int         `json:"tokens"`          // estimated, of the messages left out
	Facts      string      `json:"-"`               // of a new fold: see Work

	FirstRequest int `json:"since,omitempty"`    // number of the first request sent without the messages; 0 while requests have them
	Requests     int `json:"requests,omitempty"` // sent without the messages earlier, if requests had them again in between
}
