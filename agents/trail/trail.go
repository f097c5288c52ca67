// Package trail finds out who started whom from the logs that hosts keep or
// print: the sessions and agents they mention, in whatever order, become a
// forest that can be drawn, followed as it grows, and imported as finished
// frames. Parsing a log is left to transcripts, drawing a graph to graph;
// package agents keeps its own record of the agents that flame starts.
package trail

import (
	"flame/agents/graph"
	"flame/core"
)

// A Trail is what the logs of hosts say about who started whom: sessions and
// agents are its nodes, the edges run from parent to child and form a forest.
type Trail struct {
	Nodes    []Node      `json:"nodes"`            // parents before children, else in the order they were met
	Torn     []string    `json:"torn,omitempty"`   // logs whose last line is not complete
	Unread   []UnreadLog `json:"unread,omitempty"` // logs that could not be read to their end
	Messages int         `json:"messages"`         // entries read, of any kind
	Aside    int         `json:"aside"`            // those of a kind known to concern no agent
	Unknown  int         `json:"unknown"`          // those of a kind that no reader knows
}

// A Node is a session or an agent.
type Node struct {
	// ID is the agent's in its host, or the session's, or that of an agent of
	// flame's whose session is unknown, or else that of the call that was to
	// start it.
	ID            string          `json:"id"`
	Kind          graph.Kind      `json:"kind"`                 // KindSession or KindSubagent
	Parent        string          `json:"parent,omitempty"`     // empty for a root; of one without a Parent in the logs, what they call it
	Unparented    bool            `json:"unparented,omitempty"` // the logs do not say, or not yet, who started it
	Depth         int             `json:"depth"`                // 0 for a root
	Agent         string          `json:"agent,omitempty"`      // of an agent that flame started: flame's id
	Frame         string          `json:"frame,omitempty"`      // of flame, in which it worked
	Host          string          `json:"host,omitempty"`
	Session       string          `json:"session,omitempty"` // of the host, in which it ran
	Call          string          `json:"call,omitempty"`    // id of the tool call that started it
	Type          string          `json:"agentType,omitempty"`
	Description   string          `json:"description,omitempty"`
	Prompt        string          `json:"prompt,omitempty"`
	Model         string          `json:"model,omitempty"`
	Tools         []string        `json:"tools,omitempty"`  // offered to it, as far as the logs say
	Denied        []string        `json:"denied,omitempty"` // tools that it could not use
	State         core.AgentState `json:"state"`
	Error         string          `json:"error,omitempty"`
	Result        string          `json:"result,omitempty"`    // its last words
	Usage         core.Usage      `json:"usage"`               // its own, without what it started
	UntoldUSD     float64         `json:"untoldUSD,omitempty"` // that agents below it cost beyond their own usage here
	ContextTokens int64           `json:"contextTokens,omitempty"`
	Messages      int             `json:"messages"`
	Started       core.Millis     `json:"started,omitempty"`
	Ended         core.Millis     `json:"ended,omitempty"`
}

// Used returns what all of them used, and what of that costs agents that the logs do
// not tell apart, in US dollars.
func (t Trail) Used() (all core.Usage, untold float64) {
	for _, n := range t.Nodes {
		all, untold = all.Add(n.Usage), untold+n.UntoldUSD
	}
	all.CostUSD += untold
	return all, untold
}

// An UnreadLog is one that could not be read to its end.
type UnreadLog struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}
