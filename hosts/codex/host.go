package codex

import (
	"time"

	"flame/hosts"
)

// Host returns what flame knows of Codex CLI. settings are the variables that flame's server reads,
// which Codex passes on only if they are named.
func Host(settings func() []string) hosts.Host {
	h := facts()
	h.Hook, h.Events, h.Patience = Hook, Events, time.Second
	h.SetsVariable = setsVariable
	h.Gateway, h.BaseSetting = wire(), baseSetting
	h.PlanGatewayLaunch = func(m hosts.Machine, args []string) (hosts.GatewayLaunch, error) {
		return Client{m, settings}.behind(args)
	}
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m, Settings: settings} }
	return h
}
