package render

import (
	"fmt"
	"strings"

	"flame/agents"
	"flame/core"
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
	return b.String() + "\nusage in all: " + Usage(s.Usage)
}

// Subagents says what became of the subagents that hosts started.
func Subagents(s core.SubagentStats) string {
	return fmt.Sprintf("detected %d, frames created %d, skipped %d, auto-completed %d, manually completed %d, ended by their host %d",
		s.TotalDetected, s.FramesCreated, s.SkippedByHeuristics, s.AutoCompleted, s.ManuallyCompleted, s.EndedByHost)
}
