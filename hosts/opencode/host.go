package opencode

import (
	"time"

	"flame/hosts"
)

// Host returns what flame knows of OpenCode, whose plugin knows flame's tools by these
// names.
func Host(ownTools func() []string) hosts.Host {
	h := facts()
	h.Hook, h.Events, h.Patience = Hook, Events, 280*time.Millisecond // flame.js gives up after 300
	h.On = func(m hosts.Machine) hosts.Client { return Client{Machine: m, OwnTools: ownTools} }
	return h
}
