// Package judge decides, from a conversation and its tool calls, whether a user's prompt needs a
// new frame, and whether the current frame should end after a turn. It is pure: the same moment
// gives the same judgement.
package judge

import "flame/core"

// A Moment is what flame knows when it judges: at a user's prompt, or when the agent has just
// stopped. Zero values are unknown.
type Moment struct {
	Frame  Frame
	Recent []Message // the last messages, oldest first; at the end of a turn the last one is the agent's
	Turn   Turn      // the turn that ended; at a prompt the turn before it
	Prompt string    // the user's new message; empty at the end of a turn

	// Named says that the prompt is not a user's message, but the goal that a tool's caller
	// considers for a frame.
	Named bool

	// Signs of success and of failure, in the words of a tool's caller.
	Successes, Failures []string
}

// A Frame holds the relevant facts about the frame of the work.
type Frame struct {
	Goal      string
	Criteria  string   // for success; may be empty
	Planned   []string // goals of planned children
	Open      int      // children in progress
	Messages  int      // in the frame so far
	Files     []string // changed in it so far
	Decisions []string
	Artifacts []string
}

// A Message is one of a conversation.
type Message struct {
	Role core.Role `json:"role"`
	Text string    `json:"text"`
}

// A Turn is what happened between a prompt and the end of the agent's work on it.
type Turn struct {
	Calls  []Call   // some of the calls of tools, oldest first
	Files  []string // changed
	Errors int      // calls that failed
	Tokens int      // in the context
	Model  string   // its name; empty: unknown
	Window int      // size of the context window in tokens by the host or a gateway; 0: the published size for Model

	// WithoutProgress is the number of latest turns in a row without a new file, decision or
	// result.
	WithoutProgress int
}

// A Call is one call of a tool.
type Call struct {
	Tool   string `json:"tool"`
	Input  string `json:"input,omitempty"` // a command, a path, a pattern: its first characters
	OK     bool   `json:"ok"`
	Exit   *int   `json:"exit,omitempty"`   // status with which a command ended; nil for other tools
	Output string `json:"output,omitempty"` // its last characters
}
