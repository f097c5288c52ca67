package claudecode

import (
	"runtime"
	"time"

	"flame/hosts"
)

// Host returns what flame knows of Claude Code.
func Host() hosts.Host {
	h := facts()
	h.Hook, h.Events, h.Patience = Hook, Events, time.Second
	h.HookTool = calls()
	h.Gateway = wire()
	h.BaseVariable = baseVariable
	h.Shown = shown
	h.SetsVariable = setsVariable
	h.PlanGatewayLaunch = func(m hosts.Machine, args []string) (hosts.GatewayLaunch, error) {
		return behind(m, managedFolder(runtime.GOOS), args)
	}
	h.Client = func(m hosts.Machine) hosts.Client { return Client{Machine: m} }
	return h
}
