package intake

import (
	"encoding/json"

	"flame/core"
	"flame/project/turns"
)

// version is that of the letters that this program writes and the newest it reads.
const version = 1

// A Letter is an event of a host, and what must be known to handle it later, in another
// process.
type Letter struct {
	Version int             `json:"v"`
	Host    string          `json:"host"`
	At      core.Millis     `json:"at"`               // when it happened
	Dir     string          `json:"dir,omitempty"`    // root of the worktree that it happened in
	Agent   string          `json:"agent,omitempty"`  // id of the agent in whose process it happened
	Source  string          `json:"source,omitempty"` // with N, its mark; empty: it comes once
	N       int64           `json:"n,omitempty"`
	Event   json.RawMessage `json:"event"`
}

// marks returns what tells the letter from others.
func (l Letter) marks() []turns.Mark {
	if l.Source == "" {
		return nil
	}
	return []turns.Mark{{Source: l.Source, N: l.N}}
}
