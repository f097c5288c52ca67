package codex

import (
	"time"

	"flame/hosts"
)

// Host returns what flame knows of Codex CLI. settings are the variables that flame's server reads,
// which Codex passes on only if they are named.
func Host(settings func() []string) hosts.Host {
	h := facts()
	h.Variables.SetBy = setsVariable
	h.Events = hosts.Events{Hook: Hook, Docs: Events, Patience: time.Second, ClientName: "codex-mcp-client", CallID: "callId"}
	h.Gateway = hosts.GatewayFacts{Spec: wire(), BaseSetting: baseSetting, Plan: func(m hosts.Machine, args []string) (hosts.GatewayLaunch, error) {
		return Client{m, settings}.behind(args)
	}}
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m, Settings: settings} }
	return h
}
