// Package judge says, from what was said and done, whether a frame is due: a new one for
// what a user asks, or the end of the current one when a turn is over. It is pure: the
// same moment gives the same judgement.
package judge

import "flame/core"

// A Moment is what is known when a judgement is asked for: at a user's prompt, or when
// the agent has just stopped. Zero values mean that nothing is known.
type Moment struct {
	Frame  Frame
	Recent []Message // the last ones, oldest first; at the end of a turn the last is what the agent ended with
	Turn   Turn      // the one that ended; at a prompt the one before it
	Prompt string    // what the user says now; empty at the end of a turn

	// Named says that the prompt is the goal of a frame that a tool's caller thinks of, not
	// what a user says.
	Named bool

	// What an asker says itself, such as a tool's caller: signs of success and of
	// failure in its own words.
	Successes, Failures []string
}

// A Frame is what counts of the frame in which the work is done.
type Frame struct {
	Goal      string
	Criteria  string   // by which it is done; may be empty
	Root      bool     // it is the first of its session
	Planned   []string // goals of children that nobody has begun
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
	Window int      // tokens that the model takes, as the host or a gateway has it; 0: what is published of the Model

	// WithoutProgress is the number of latest turns in a row that brought no new file,
	// decision or result.
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
