package render

import (
	"fmt"
	"strings"

	"flame/agents"
	"flame/config/env"
	"flame/core"
	"flame/core/fold"
)

// Stats counts frames, sessions and agents, and says what they consumed.
func Stats(s agents.Stats) string {
	var b strings.Builder
	b.WriteString(Counts(s.Frames) + "\nsessions:")
	for _, state := range []core.SessionState{core.SessionActive, core.SessionIdle, core.SessionSuspended, core.SessionEnded} {
		fmt.Fprintf(&b, " %d %s", s.Sessions[string(state)], state)
	}
	fmt.Fprintf(&b, "\nsubagents of hosts: %s\nagents: %d, %d running", Subagents(s.Subagents), s.Agents.Count, s.Agents.Running)
	if s.Agents.Count > 0 {
		b.WriteString("; " + Usage(s.Agents.Usage))
	}
	b.WriteString("\nusage in all: " + Usage(s.Usage))
	for _, r := range s.Requests {
		b.WriteString("\nrequests of " + core.OneLine(r.Host, 30) + ": " + Requests(r.Meter))
	}
	for _, m := range s.Metered {
		b.WriteString("\ngateway of " + core.OneLine(m.Host, 30) + ", " + m.Class + ": " + Metered(m.Tally))
	}
	if !s.Folds {
		b.WriteString("\nfolding is off (" + env.Fold + "): requests are sent whole")
	}
	return b.String()
}

// Requests counts requests to models, and says what they went without.
func Requests(m fold.Meter) string {
	text := fmt.Sprintf("%d, about %s sent", m.Requests, Count(m.Sent, "token"))
	if m.LeftOut <= 0 {
		return text
	}
	return text + fmt.Sprintf(", about %d left out: %.1fx less", m.LeftOut, m.Less())
}

// Subagents says what became of the subagents that hosts started.
func Subagents(s core.SubagentStats) string {
	return fmt.Sprintf("detected %d, frames created %d, skipped %d, undecided %d, auto-completed %d, manually completed %d, ended by their host %d",
		s.TotalDetected, s.FramesCreated, s.SkippedByHeuristics, s.Undecided(), s.AutoCompleted, s.ManuallyCompleted, s.EndedByHost)
}
