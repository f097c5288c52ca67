package gemini

import (
	"time"

	"flame/hosts"
)

// Host returns what flame knows of Gemini CLI. ownTools lists the names of those of
// flame's tools that its sessions are offered: it warns of rules for others.
func Host(ownTools func() []string) hosts.Host {
	h := facts()
	h.Variables.SetBy = setsVariable
	h.Events = hosts.Events{Hook: Hook, Docs: Events, Patience: time.Second, ClientName: "gemini-cli-mcp-client", Announces: true}
	h.Gateway = hosts.GatewayFacts{Spec: wire(), Plan: behind, BaseVariable: baseVariable}
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m, OwnTools: ownTools} }
	return h
}
