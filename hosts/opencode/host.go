package opencode

import (
	"time"

	"flame/hosts"
)

// Host returns what flame knows of OpenCode; its plugin is given the names of
// flame's tools.
func Host(ownTools func() []string) hosts.Host {
	h := facts()
	h.Variables.SetBy = setsVariable
	h.Events = hosts.Events{
		Hook: Hook, Docs: Events, Patience: 280 * time.Millisecond, // flame.js gives up after 300
		Streams: true, SessionsEnded: gone, Compact: keeps,
	}
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m, OwnTools: ownTools} }
	return h
}
