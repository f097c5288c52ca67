package agents

import (
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/transcripts"
)

// A Trail is what the logs of hosts tell of who started whom: sessions and agents
// are its nodes, the edges run from parent to child and form a forest.
type Trail struct {
	Nodes    []TrailNode `json:"nodes"`            // parents before children, else in the order they were met
	Torn     []string    `json:"torn,omitempty"`   // logs whose last line is not complete
	Unread   []UnreadLog `json:"unread,omitempty"` // logs that could not be read to their end
	Messages int         `json:"messages"`         // entries read, of any kind
	Unknown  int         `json:"unknown"`          // those of a kind that no reader knows
}

// A TrailNode is a session or an agent.
type TrailNode struct {
	ID            string          `json:"id"`                   // of the agent in its host, of the session, else of the call that was to start it
	Kind          string          `json:"kind"`                 // session, subagent
	Parent        string          `json:"parent,omitempty"`     // empty for a root
	Unparented    bool            `json:"unparented,omitempty"` // the logs do not say, or not yet, who started it
	Depth         int             `json:"depth"`                // 0 for a root
	Host          string          `json:"host,omitempty"`
	Session       string          `json:"session,omitempty"` // of the host, in which it ran
	Call          string          `json:"call,omitempty"`    // id of the tool call that started it
	Type          string          `json:"agentType,omitempty"`
	Description   string          `json:"description,omitempty"`
	Prompt        string          `json:"prompt,omitempty"`
	Model         string          `json:"model,omitempty"`
	Tools         []string        `json:"tools,omitempty"`  // that it was offered, as far as the logs tell
	Denied        []string        `json:"denied,omitempty"` // tools that it could not use
	State         core.AgentState `json:"state"`
	Error         string          `json:"error,omitempty"`
	Result        string          `json:"result,omitempty"` // its last words
	Usage         core.Usage      `json:"usage"`            // its own, without what it started
	ContextTokens int64           `json:"contextTokens,omitempty"`
	Messages      int             `json:"messages"`
	Started       core.Millis     `json:"started,omitempty"`
	Ended         core.Millis     `json:"ended,omitempty"`
}

// The kinds of nodes.
const (
	KindSession  = "session"
	KindSubagent = "subagent"
)

// An UnreadLog is one that could not be read to its end.
type UnreadLog struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Track reads logs and gives what they tell together. A log that cannot be read
// is named in the result; it is an error only if none can.
func Track(ctx context.Context, logs ...transcripts.Log) (Trail, error) {
	t := NewTracker()
	var failed []error
	for _, log := range logs {
		if err := t.read(ctx, log); err != nil {
			failed = append(failed, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return Trail{}, err
	}
	if len(failed) > 0 && len(failed) == len(logs) {
		return Trail{}, errors.Join(failed...)
	}
	return t.Trail(), nil
}

// read adds a whole log.
func (t *Tracker) read(ctx context.Context, log transcripts.Log) error {
	for m, err := range log.Messages(ctx) {
		switch {
		case errors.Is(err, transcripts.ErrTorn):
			t.torn = append(t.torn, log.Path)
		case err != nil:
			t.unread = append(t.unread, UnreadLog{Path: log.Path, Reason: err.Error()})
			return err
		default:
			t.Add(log.Host(), m)
		}
	}
	return nil
}

// Trail gives what is known so far. Agents whose parent no log has told yet stand
// by themselves; they move when it does.
func (t *Tracker) Trail() Trail {
	trail := Trail{Torn: slices.Clone(t.torn), Unread: slices.Clone(t.unread), Messages: t.messages, Unknown: t.unknown}
	above, children := t.parents()
	for _, s := range t.order {
		if s.isNode() && above[s] == nil {
			trail.Nodes = appendTree(trail.Nodes, s, children)
		}
	}
	t.priceTrees(trail.Nodes)
	return trail
}

// appendTree appends the nodes of the tree below top, each before its children.
// Trees of logs may be deep, so it keeps a list of what is to come.
func appendTree(nodes []TrailNode, top *sighting, children map[*sighting][]*sighting) []TrailNode {
	type place struct {
		*sighting
		parent string
		depth  int
	}
	for todo := []place{{sighting: top}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := at.node()
		n.Parent, n.Depth = at.parent, at.depth
		n.Unparented = n.Parent == "" && at.isChild()
		nodes = append(nodes, n)
		for _, child := range slices.Backward(children[at.sighting]) {
			todo = append(todo, place{child, n.ID, at.depth + 1})
		}
	}
	return nodes
}

// priceTrees gives each session that knows what it cost with all below it the
// part that none of those account for. Nodes stand parents first.
func (t *Tracker) priceTrees(nodes []TrailNode) {
	below := map[string]float64{}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		if s, ok := t.names[idName(n.ID)]; ok {
			n.Usage.CostUSD = max(n.Usage.CostUSD, s.newest().treeCost-below[n.ID])
		}
		below[n.Parent] += n.Usage.CostUSD + below[n.ID]
	}
}
