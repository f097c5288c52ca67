package render

import (
	"fmt"
	"slices"

	"github.com/samber/lo"

	"flame/agents/record"
	"flame/core"
)

// RemoteAgentsTable returns the agents of other machines, one per line of a terminal of that
// width, as they are at a time.
func RemoteAgentsTable(all []record.RemoteAgent, now core.Millis, width int) string {
	if len(all) == 0 {
		return "No other machine reports an agent.\n"
	}
	rows := []string{"ID\tMACHINE\tSTATE\tTYPE\tSTARTED\tCOST\tHEARD\tTASK"}
	for _, a := range all {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", a.ID, a.Machine, a.State, core.OneLine(a.Type, 30),
			Time(a.Asked, now), costOf(a.Used.CostUSD), Ago(now, a.Heard), Short(a.Description)))
	}
	return Table(width, rows)
}

// RemoteAgents lists the agents of other machines that match a filter, for models; empty if
// there are none.
func RemoteAgents(all []record.RemoteAgent, which string) string {
	all = slices.DeleteFunc(slices.Clone(all), func(a record.RemoteAgent) bool {
		return which == "running" && a.State.Ended() || which == "ended" && !a.State.Ended()
	})
	if len(all) == 0 {
		return ""
	}
	return "\nOf other machines, which alone can cancel them:\n" + listed(all, func(a record.RemoteAgent) string {
		return fmt.Sprintf("%s (%s) %s @%s: %s", a.ID, core.OneLine(a.Type, 30), a.State, a.Machine, Short(a.Description))
	})
}

// RemoteAgentCount says how many agents of other machines are at work; empty if none are.
func RemoteAgentCount(all []record.RemoteAgent) string {
	n := lo.CountBy(all, func(a record.RemoteAgent) bool { return !a.State.Ended() })
	if n == 0 {
		return ""
	}
	return Count(n, "agent") + " at work for other machines: flame agents runs --elsewhere\n"
}
