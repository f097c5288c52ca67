package opencode

import (
	"time"

	"flame/hosts"
)

// Host returns what flame knows of OpenCode; its plugin is given the names of
// flame's tools.
func Host(ownTools func() []string) hosts.Host {
	h := facts()
	h.Hook, h.Events, h.Patience = Hook, Events, 280*time.Millisecond // flame.js gives up after 300
	h.Streams, h.SessionsEndedEvent, h.CompactEvent = true, gone, keeps
	h.SetsVariable = setsVariable
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m, OwnTools: ownTools} }
	return h
}
