package gemini

import (
	"time"

	"flame/hosts"
)

// Host returns what flame knows of Gemini CLI. ownTools lists the names of those of
// flame's tools that its sessions are offered: it warns of rules for others.
func Host(ownTools func() []string) hosts.Host {
	h := facts()
	h.Hook, h.Events, h.Patience = Hook, Events, time.Second
	h.Gateway, h.PlanGatewayLaunch, h.BaseVariable = wire(), behind, baseVariable
	h.SetsVariable = setsVariable
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m, OwnTools: ownTools} }
	return h
}
