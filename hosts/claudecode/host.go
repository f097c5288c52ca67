package claudecode

import (
	"time"

	"flame/hosts"
)

// Host returns what flame knows of Claude Code.
func Host() hosts.Host {
	h := facts()
	h.Hook, h.Events, h.Patience = Hook, Events, time.Second
	h.Wire = wire()
	h.On = func(m hosts.Machine) hosts.Client { return Client{Machine: m} }
	return h
}
