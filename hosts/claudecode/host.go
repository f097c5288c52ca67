package claudecode

import (
	"runtime"
	"time"

	"flame/hosts"
)

// Host returns what flame knows of Claude Code.
func Host() hosts.Host {
	h := facts()
	h.Variables.SetBy = setsVariable
	h.Events = hosts.Events{Hook: Hook, Tool: calls(), Docs: Events, Patience: time.Second, CallID: "claudecode/toolUseId"}
	h.Gateway = hosts.GatewayFacts{
		Spec: wire(), BaseVariable: baseVariable, StatusLine: shown,
		Plan: func(m hosts.Machine, args []string) (hosts.GatewayLaunch, error) {
			return behind(m, managedFolder(runtime.GOOS), args)
		},
	}
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m} }
	return h
}
