package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"flame/agents/abroad"
	"flame/core"
)

// AgentsAbroad returns the agents of other machines, one per line of a terminal of that
// width, as they are at a time.
func AgentsAbroad(all []abroad.Agent, now core.Millis, width int) string {
	if len(all) == 0 {
		return "No other machine tells of an agent.\n"
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tMACHINE\tSTATE\tTYPE\tSTARTED\tCOST\tHEARD\tSHARED\tTASK")
	for _, a := range all {
		cost := "-"
		if a.Used.CostUSD > 0 {
			cost = Money(a.Used.CostUSD)
		}
		heard := (time.Duration(now-a.Heard) * time.Millisecond).Round(time.Second)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s ago\t%s\t%s\n", a.ID, a.Machine, a.State, core.OneLine(a.Type, 30),
			a.Asked.Time().Local().Format("Jan _2 15:04"), cost, heard, cmp.Or(strings.Join(a.Shared, ","), "-"), Short(a.Description))
	}
	_ = table.Flush() // a strings.Builder never fails
	return cutLines(b.String(), width)
}

// AgentsElsewhere lists the agents of other machines that match a filter, for models; empty if
// there are none.
func AgentsElsewhere(all []abroad.Agent, which string) string {
	all = slices.DeleteFunc(slices.Clone(all), func(a abroad.Agent) bool {
		return which == "running" && a.State.Ended() || which == "ended" && !a.State.Ended()
	})
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nOf other machines, which alone can cancel them:\n")
	for i, a := range all {
		if i == maxListed {
			fmt.Fprintf(&b, "and %d more\n", len(all)-maxListed)
			break
		}
		fmt.Fprintf(&b, "- %s (%s) %s @%s: %s\n", a.ID, core.OneLine(a.Type, 30), a.State, a.Machine, Short(a.Description))
	}
	return b.String()
}

// AtWorkAbroad says how many agents of other machines are at work; empty if none are.
func AtWorkAbroad(all []abroad.Agent) string {
	n := 0
	for _, a := range all {
		if !a.State.Ended() {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return Count(n, "agent") + " at work that other machines asked for: flame agents runs --elsewhere\n"
}
