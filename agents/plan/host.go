package plan

import (
	"strings"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
)

// host returns the one that an agent of this definition runs in.
func (pl Planner) host(def definition.Definition, callers string) (hosts.Host, error) {
	for _, name := range pl.hostOrder(def, callers) {
		if host, known := pl.Hosts.Find(name); known {
			return host, nil
		}
		if name != "" && name != callers {
			return hosts.Host{}, core.Invalidf("agents cannot run in %q", name).
				WithHint("set host in the definition, or "+env.AgentHost+", to %s", strings.Join(pl.Hosts.Names(), " or "))
		}
	}
	if host, found := lo.Find(pl.Hosts, func(h hosts.Host) bool { return h.Installed(pl.Machine) }); found {
		return host, nil
	}
	return hosts.Host{}, core.NotFoundf("no host is installed that an agent could run in").WithHint("%s", pl.Hosts.HowToInstall())
}

// hostOrder returns the hosts that an agent may run in, the first that is named first.
// Of a shipped definition FLAME_AGENT_HOST goes before what the definition says.
func (pl Planner) hostOrder(def definition.Definition, callers string) []string {
	if def.Shipped() {
		return []string{pl.Host, def.Host, callers}
	}
	return []string{def.Host, pl.Host, callers}
}
